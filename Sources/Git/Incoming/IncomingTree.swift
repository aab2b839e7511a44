import CGit

/// How much a tree may hold that others made.
public struct TreeBounds: Sendable {
    /// The size in bytes of one file.
    public var file: Int
    /// The size in bytes of all files together.
    public var total: Int
    /// How many files and folders.
    public var entries = 100_000
    /// How long the look may take.
    public var time = Duration.seconds(60)

    /// How many folders deep.
    static let depth = PathBounds.depth
    /// The bytes of a path.
    static let path = PathBounds.bytes
    /// The bytes of one folder's list.
    static let list = 16 << 20
    /// The bytes of all paths.
    static let paths = 32 << 20
    /// The bytes of a list of recipients, and of its signature: no more are ever read.
    public static let recipients = 1 << 20
    /// The entries of the folders in which two trees differ, both counted: more than one of others may bring.
    static let differences = 500_000
    /// How many folders deep two trees are compared.
    static let differenceDepth = 500
    /// The bytes of a commit.
    static let commit = 4 << 20

    /// Bounds for files.
    public init(file: Int, total: Int) {
        self.file = file
        self.total = total
    }
}

extension Repository {
    /// Looks at all that a commit of others holds and none of the `known` ones do, before any of it is read, merged or
    /// checked out. What is the same at the same place in a known commit is not looked at again.
    ///
    /// Reads lists of folders and the sizes of files only.
    /// - Throws: `.invalid` with the reason, which names the path, when something must not or cannot be placed.
    public func checkIncoming(
        _ commit: ObjectID, known: [ObjectID], bounds: TreeBounds
    ) throws(GitError) {
        let (kind, size) = try ObjectReader(self).header(commit)
        guard kind == GIT_OBJECT_COMMIT, size <= TreeBounds.commit else {
            throw GitError(
                code: .invalid, message: "its tip, \(commit), is not a commit, or one of \(size) bytes")
        }
        var counterparts: [ObjectID] = []
        for id in known { counterparts.append(try treeID(of: id)) }
        var look = try IncomingLook(self, bounds)
        try look.run(try treeID(of: commit), counterparts)
    }

    /// The name of a commit's tree, which is not read; a tree's own name is itself.
    func treeID(of id: ObjectID) throws(GitError) -> ObjectID {
        guard try ObjectReader(self).header(id).kind == GIT_OBJECT_COMMIT else { return id }
        var oid = id.oid
        let commit = try Owned("cannot read commit \(id)", free: git_commit_free) {
            git_commit_lookup(&$0, pointer, &oid)
        }
        return ObjectID(git_commit_tree_id(commit.pointer).pointee)
    }
}

/// One look at a tree, and what it has counted.
private struct IncomingLook: ~Copyable {
    private let reader: ObjectReader
    private let bounds: TreeBounds
    private let end: ContinuousClock.Instant
    private var entries = 0
    private var pathBytes = 0
    private var total = 0
    private var waiting: [Folder] = []

    private struct Folder {
        var id: ObjectID
        var path: [UInt8]
        var depth: Int
        /// What known trees have in its place.
        var known: [ObjectID]
    }

    init(_ repository: Repository, _ bounds: TreeBounds) throws(GitError) {
        reader = try ObjectReader(repository)
        self.bounds = bounds
        end = .now + bounds.time
    }

    mutating func run(_ top: ObjectID, _ known: [ObjectID]) throws(GitError) {
        waiting = [Folder(id: top, path: [], depth: 0, known: known)]
        while let folder = waiting.popLast() {
            guard !folder.known.contains(folder.id) else { continue }
            guard .now < end else {
                throw refusal("examining it takes longer than \(bounds.time.components.seconds) s")
            }
            try look(into: folder)
        }
    }

    private mutating func look(into folder: Folder) throws(GitError) {
        let found: [RawEntry]
        do throws(GitError) {
            found = try reader.entries(of: folder.id, atMost: bounds.entries)
        } catch {
            guard error.code == .invalid, !folder.path.isEmpty else { throw error }
            throw refusal("\(Self.shown(folder.path)): \(error.message)")
        }
        var known: [[UInt8]: [RawEntry]] = [:]
        for id in folder.known {
            // One that is too large was never checked: nothing of it counts as known.
            guard let entries = try? reader.entries(of: id, atMost: bounds.entries) else { continue }
            for entry in entries { known[entry.name, default: []].append(entry) }
        }
        var names: Set<[UInt8]> = []
        for entry in found {
            guard names.insert(entry.name).inserted else {
                throw refusal("\(Self.shown(folder.path + entry.name)) appears in it twice")
            }
            let counterparts = known[entry.name] ?? []
            if !counterparts.contains(entry) { try look(at: entry, in: folder, counterparts) }
        }
    }

    private mutating func look(
        at entry: RawEntry, in folder: Folder, _ counterparts: [RawEntry]
    ) throws(GitError) {
        let path = folder.path + entry.name
        entries += 1
        pathBytes += path.count
        guard entries <= bounds.entries, pathBytes <= TreeBounds.paths else {
            throw refusal("it holds more than \(bounds.entries) files and folders that are not here")
        }
        guard folder.depth < TreeBounds.depth else {
            throw refusal("\(Self.shown(path)) is more than \(TreeBounds.depth) folders deep")
        }
        guard path.count <= TreeBounds.path else {
            throw refusal("\(Self.shown(path)) has a path of more than \(TreeBounds.path) bytes")
        }
        let isFolder = entry.isTree || entry.isSubmodule
        if let objection = IncomingName.objection(entry.name, isLink: entry.isLink, isTree: isFolder) {
            throw refusal("\(Self.shown(path)) \(objection)")
        }
        guard entry.isKnown else {
            throw refusal(
                "\(Self.shown(path)) has the mode \(String(entry.mode, radix: 8)), which git does not use")
        }
        if entry.isTree {
            waiting.append(
                Folder(
                    id: entry.id, path: path + [UInt8(ascii: "/")], depth: folder.depth + 1,
                    known: counterparts.filter(\.isTree).map(\.id)))
        } else if !entry.isSubmodule {
            try measure(entry, path)
        }
    }

    private mutating func measure(_ entry: RawEntry, _ path: [UInt8]) throws(GitError) {
        let (kind, size) = try reader.header(entry.id)
        guard kind == GIT_OBJECT_BLOB else { throw refusal("\(Self.shown(path)) is not a file") }
        let limit = entry.isLink ? TreeBounds.path : bounds.file
        guard size <= limit else {
            throw refusal(
                "\(Self.shown(path)) has \(size) bytes"
                    + (entry.isLink ? " in a symbolic link" : ", more than limits.secret allows"))
        }
        guard !IncomingName.isList(entry.name) || size <= TreeBounds.recipients else {
            throw refusal(
                "\(Self.shown(path)) has \(size) bytes, more than the \(TreeBounds.recipients) that a recipient "
                    + "list may have"
            )
        }
        if RuleFiles.names.contains(String(decoding: entry.name, as: UTF8.self)) {
            guard size <= RuleFiles.limit, try reader.withBytes(of: entry.id, PatternCost.isBounded) else {
                throw refusal(
                    "\(Self.shown(path)) has patterns that git would match forever, or is too long")
            }
        }
        total += size
        guard total <= bounds.total else {
            throw refusal(
                "its files take more than the \(bounds.total) bytes that limits.transfer allows")
        }
    }

    private func refusal(_ message: String) -> GitError { GitError(code: .invalid, message: message) }

    private static func shown(_ path: [UInt8]) -> String {
        let text = String(decoding: path, as: UTF8.self)
        return text.count <= 200 ? text : "\(text.prefix(100))…\(text.suffix(60))"
    }
}
