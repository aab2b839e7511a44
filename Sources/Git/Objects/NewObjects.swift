import CGit
import Glibc
import System
import SystemPackage

/// The objects that new commits bring, held in memory until a branch leads to them.
///
/// `git gc --prune=now` and its kind remove what nothing leads to, and a commit waits before its branch moves: for a
/// quiet moment, for a signature. What has gone meanwhile is written again from here. A collector that is at work while
/// the branch moves may have looked before and remove after: against that, the objects go into a pack with a `.keep`
/// (git-repack(1)), which none takes away, until it has ended or has seen the branch.
public final class NewObjects {
    /// Beyond so many bytes they are not held but kept as a pack from the start.
    private static let mostHeld = 32 << 20

    private struct Held {
        var id: ObjectID
        var kind: git_object_t
        /// Nil once there is a pack.
        var bytes: [UInt8]?
    }

    private let repository: Repository
    private var objects: [Held] = []
    private var seen: Set<ObjectID> = []
    private var size = 0
    private var pack: KeptPack?

    /// Reads what leads from a commit to others that are known to stay, each path's object once.
    /// - Parameter known: commits that branches lead to; of every commit before `tip` that is none of them, all is read
    ///   that its parents have not.
    /// - Throws: `.modified` when an object is gone already: all has to be made again.
    public init(of tip: ObjectID, since known: [ObjectID?], in repository: Repository) throws(GitError) {
        self.repository = repository
        let known = Set(known.compactMap(\.self))
        let stock = try FreshStock(repository)
        do throws(GitError) {
            var waiting = [tip]
            while let id = waiting.popLast() {
                guard !known.contains(id), !seen.contains(id) else { continue }
                try hold(id, stock)
                let commit = try repository.commitInfo(id)
                let parents = try commit.parents.map { parent throws(GitError) in
                    try repository.commitInfo(parent).tree
                }
                try gather(commit.tree, beside: parents, stock)
                waiting += commit.parents
            }
        } catch {
            throw Self.gone(error)
        }
    }

    private static func gone(_ error: GitError) -> GitError {
        guard error.libgit2Code == GIT_ENOTFOUND.rawValue else { return error }
        return GitError(
            code: .modified,
            message: "git removed objects of a commit while it was being written: \(error.message)",
            libgit2Code: error.libgit2Code)
    }

    /// A folder with what none of the other folders, at the same place in other trees, has.
    private func gather(_ tree: ObjectID, beside others: [ObjectID], _ stock: borrowing FreshStock)
        throws(GitError)
    {
        guard !others.contains(tree), !seen.contains(tree) else { return }
        try hold(tree, stock)
        for (entry, there) in try stock.reader.news(in: tree, beside: others, bytes: .max) {
            if entry.isTree {
                try gather(entry.id, beside: there.filter(\.isTree).map(\.id), stock)
            } else if !seen.contains(entry.id) {
                try hold(entry.id, stock)
            }
        }
    }

    private func hold(_ id: ObjectID, _ stock: borrowing FreshStock) throws(GitError) {
        let (kind, length) = try stock.reader.header(id)
        size += length
        seen.insert(id)
        if size > Self.mostHeld { objects.indices.forEach { objects[$0].bytes = nil } }
        let bytes = size > Self.mostHeld ? nil : try stock.reader.withBytes(of: id) { Array($0) }
        objects.append(Held(id: id, kind: kind, bytes: bytes))
    }

    /// Keeps those that are too many to be held in memory.
    public func keepUnlessHeld() throws(GitError) {
        if size > Self.mostHeld { try ensure(collecting: true) }
    }

    /// Writes again what has gone. To be called right before the branch moves, and right after.
    /// - Parameter collecting: a collector is at work: they are kept from it until `release`.
    /// - Throws: `.modified` when one has gone that was too large to be held.
    public func ensure(collecting: Bool) throws(GitError) {
        guard pack == nil, !objects.isEmpty else { return }
        try rethrowing(write(asPack: collecting), Self.gone)
    }

    private func write(asPack: Bool) throws(GitError) {
        let stock = try FreshStock(repository)
        if asPack {
            var all: [(kind: git_object_t, bytes: [UInt8])] = []
            for object in objects {
                if let bytes = object.bytes {
                    all.append((object.kind, bytes))
                } else {
                    all.append((object.kind, try stock.reader.withBytes(of: object.id) { Array($0) }))
                }
            }
            pack = try KeptPack(all, in: repository)
            return
        }
        for object in objects where (try? stock.reader.header(object.id)) == nil {
            guard let bytes = object.bytes else { continue }
            try stock.write(object.kind, bytes)
        }
    }

    /// A branch leads to them, or they are given up: nothing is kept any more.
    public func release() {
        pack?.release()
        pack = nil
    }

    deinit { release() }
}

/// The objects of a repository as they are on the disk now: what libgit2 remembers of a repository may be gone.
private struct FreshStock: ~Copyable {
    let reader: ObjectReader
    private let repository: Repository

    init(_ repository: Repository) throws(GitError) {
        self.repository = repository
        reader = try ObjectReader(fresh: repository)
    }

    func write(_ kind: git_object_t, _ bytes: [UInt8]) throws(GitError) {
        var oid = git_oid()
        try reader.withDatabase { database throws(GitError) in
            let code = withBytes(bytes) { git_odb_write(&oid, database, $0, bytes.count, kind) }
            try check(code, "cannot write an object")
        }
    }
}
