import CGit
import Glibc
import System
import SystemPackage

extension Repository {
    /// Looks at every commit of others that leads to `tip` and to none of the `known` ones, before a reference is moved to
    /// it: that each can be read, and that all it names is here. A branch that leads to one that is not would stop every
    /// merge, and `git gc` in this repository.
    ///
    /// What git fetch(1) looks at, and that each commit says who made it, without which libgit2 reads none.
    /// - Parameters:
    ///   - known: commits whose own history is not looked at.
    ///   - limit: how many commits at most; more than that would fill the memory of whoever compares two histories.
    ///   - time: how long the look may take.
    /// - Throws: `.invalid` with the reason when the history must not be taken in; `.machine` and others when this machine
    ///   kept it from being read.
    public func checkIncomingHistory(
        of tip: ObjectID, known: [ObjectID], atMost limit: Int, time: Duration = .seconds(60)
    ) throws(GitError) {
        var look = try IncomingHistoryLook(self, end: .now + time)
        do throws(GitError) {
            // A shallow clone's own is small.
            if !isShallow, try !hasHistory(of: tip, atMost: limit) {
                throw GitError(code: .invalid, message: "its history has more than \(limit) commits")
            }
            for id in try commits(of: tip, since: known) { try look.look(at: id) }
        } catch {
            let refusal = IncomingHistoryLook.refusal(error)
            // libgit2 takes an object for one that is not there when it cannot open the pack which has it.
            if refusal.code == .invalid, error.code != .invalid { try checkPacks() }
            throw refusal
        }
    }

    /// Looks whether what is packed can be had in memory.
    /// - Throws: what the system says where it cannot.
    private func checkPacks() throws(GitError) {
        let folder = commonDirectory.appending("objects").appending("pack")
        var names: [String] = []
        do throws(Errno) {
            var stream = try DirectoryStream(folder)
            while let entry = try stream.next() { names.append(String(decoding: entry.name, as: UTF8.self)) }
        } catch {
            if error == .noSuchFileOrDirectory { return }
            throw .system(error, "cannot list \(folder)")
        }
        for name in names where name.hasSuffix(".idx") || name.hasSuffix(".pack") {
            let file = folder.appending(name)
            do throws(Errno) {
                let opened = try OwnedDescriptor(opening: file, O_RDONLY)
                var facts = stat()
                guard fstat(opened.raw, &facts) == 0 else { throw .last }
                guard facts.st_size > 0 else { continue }
                let memory = mmap(nil, Int(facts.st_size), PROT_READ, MAP_PRIVATE, opened.raw, 0)
                guard let memory, memory != MAP_FAILED else { throw .last }
                munmap(memory, Int(facts.st_size))
            } catch {
                // Packed anew meanwhile.
                if error == .noSuchFileOrDirectory { continue }
                throw GitError(code: .machine, message: "cannot read \(file): \(error)")
            }
        }
    }

    private func commits(of tip: ObjectID, since known: [ObjectID]) throws(GitError) -> [ObjectID] {
        if let shallow = try ShallowHistory(self) {
            return try shallow.log(from: tip, hiding: known, limit: .max).map(\.id)
        }
        return try walk(from: tip, hiding: known)
    }
}

/// One look at the commits of others, and what it has seen.
struct IncomingHistoryLook: ~Copyable {
    private let repository: Repository
    private let reader: ObjectReader
    private let end: ContinuousClock.Instant
    /// What is here, or is looked at already.
    private var seen: Set<ObjectID> = []

    init(_ repository: Repository, end: ContinuousClock.Instant) throws(GitError) {
        self.repository = repository
        reader = try ObjectReader(repository)
        self.end = end
    }

    /// As a reason not to take a history in: whatever kept it from being read, but for what this machine lacks, which tells
    /// nothing of the history.
    static func refusal(_ error: GitError) -> GitError {
        guard ![.invalid, .machine].contains(error.code) else { return error }
        return GitError(code: .invalid, message: "its history is damaged or incomplete: \(error.message)")
    }

    /// A commit with what none of its parents has at the same place: those are known or looked at, too.
    mutating func look(at id: ObjectID) throws(GitError) {
        let (kind, size) = try reader.header(id)
        guard kind == GIT_OBJECT_COMMIT, size <= TreeBounds.commit else {
            throw GitError(
                code: .invalid, message: "\(id) in its history is not a commit, or one of \(size) bytes")
        }
        let commit = try repository.commitInfo(id)
        let parents = try commit.parents.map { parent throws(GitError) in
            try repository.treeID(of: parent)
        }
        var waiting = [(tree: commit.tree, others: parents)]
        while let (tree, others) = waiting.popLast() {
            guard !others.contains(tree), seen.insert(tree).inserted else { continue }
            guard .now < end else {
                throw GitError(code: .invalid, message: "examining its history takes too long")
            }
            // Of a folder of any number of files, as long as its list can be read: it may be gone from the newest commit.
            for (entry, there) in try reader.news(in: tree, beside: others) {
                if entry.isTree {
                    waiting.append((entry.id, there.filter(\.isTree).map(\.id)))
                } else if seen.insert(entry.id).inserted, !reader.has(entry.id) {
                    throw GitError(code: .notFound, message: "cannot read \(entry.id)")
                }
            }
        }
    }
}
