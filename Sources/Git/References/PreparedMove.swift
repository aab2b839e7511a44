import CGit
import Glibc
import System
import SystemPackage

/// A move of a branch of which only the move itself is left to do; without effect when it isn't published.
///
/// A program of git that read the branch at its start fails when the branch has moved by its end. So whatever takes time
/// comes before the moment that is chosen for the move.
public struct PreparedMove: ~Copyable {
    private let repository: Repository
    private let ref: String
    private let from: ObjectID?
    private let to: ObjectID
    private let who: Signature
    private let why: String
    /// Nil where libgit2 has to do it: for a new reference, and one that leads to another.
    private let lock: BranchLock?
    /// The logs that get a line.
    private let logs: [ReferenceLog]

    init(
        _ ref: String, from: ObjectID?, to: ObjectID, as who: Signature, _ why: String,
        in repository: Repository
    ) throws(GitError) {
        self.repository = repository
        (self.ref, self.from, self.to, self.who, self.why) = (ref, from, to, who, why)
        guard from != nil, ref.hasPrefix("refs/"), try repository.isDirect(ref) else {
            lock = nil
            logs = []
            return
        }
        lock = try BranchLock(ref, writing: to, repository)
        let own = ReferenceLog(of: ref, in: repository.commonDirectory, repository)
        let head =
            repository.leadsHEAD(to: ref)
            ? ReferenceLog(of: "HEAD", in: repository.gitDirectory, repository) : nil
        logs = [own] + [head].compactMap(\.self)
    }

    /// Moves the branch by compare-and-set: lock, compare, rename; then the logs get their lines. The log of HEAD gets one
    /// too when HEAD is on the branch.
    /// - Parameter mayMove: asked last, under the lock and right before the rename; while the answer is no, the lock is
    ///   given back and this waits.
    /// - Throws: `.modified` when it stands elsewhere, `.locked` when another process holds its lock.
    public consuming func publish(
        when mayMove: () throws(GitError) -> Bool = { true }
    ) throws(GitError) {
        let (repository, ref, from, to, who, why, logs) = (repository, ref, from, to, who, why, logs)
        switch consume lock {
        case .some(let lock):
            guard let from else { break }
            var isTaken = false
            while true {
                isTaken = try lock.take()
                guard isTaken else { break }
                guard try repository.commit(at: ref) == from, try repository.isDirect(ref) else {
                    throw GitError(code: .modified, message: "\(ref) was moved by another program")
                }
                if try mayMove() { break }
                // git waits a tenth of a second for the lock of a reference.
                lock.giveBack()
                PosixThread.sleep(for: .milliseconds(2))
            }
            if isTaken, try lock.commit() {
                let line = ReferenceLog.line(from: from, to: to, who, why)
                for log in logs { log.append(line) }
                return
            }
        case .none: break
        }
        try repository.moveByLibrary(ref, from: from, to: to, as: who, why)
    }
}

extension Repository {
    /// Prepares a move of a reference, up to the moment in which others notice.
    /// - Parameters:
    ///   - from: where it must stand; nil: it must not exist.
    ///   - why: the line in the log of the reference.
    /// - Throws: `.modified` when the commit that it shall move to is not there.
    public func preparedMove(
        _ ref: String, from: ObjectID?, to: ObjectID, as who: Signature, _ why: String
    ) throws(GitError) -> PreparedMove {
        guard try ObjectReader(fresh: self).has(to) else {
            throw GitError(code: .modified, message: "git removed the commit \(to)")
        }
        return try PreparedMove(ref, from: from, to: to, as: who, why, in: self)
    }

    /// Looks for the locks of the index and of a reference, before anything is prepared in vain.
    /// - Throws: `.locked` when another program holds one.
    public func checkUnlocked(_ ref: String) throws(GitError) {
        for file in [gitDirectory.appending("index"), commonDirectory.pushing(FilePath(ref))] {
            let lock = file.withSuffix(".lock")
            guard !lock.exists else {
                throw GitError(code: .locked, message: "another program holds \(lock)")
            }
        }
    }

    /// Moves a reference by compare-and-set.
    /// - Parameters: as of `preparedMove`.
    /// - Throws: `.modified` when it stands elsewhere, `.locked` when another process holds its lock.
    public func move(
        _ ref: String, from: ObjectID?, to: ObjectID, as who: Signature, _ why: String
    ) throws(GitError) {
        try preparedMove(ref, from: from, to: to, as: who, why).publish()
    }

    fileprivate func moveByLibrary(
        _ ref: String, from: ObjectID?, to: ObjectID, as who: Signature, _ why: String
    ) throws(GitError) {
        git_repository_set_ident(pointer, who.name, who.email)
        defer { git_repository_set_ident(pointer, nil, nil) }
        var target = to.oid
        var made: OpaquePointer?
        defer { git_reference_free(made) }
        let code: Int32
        if let from {
            var expected = from.oid
            code = git_reference_create_matching(&made, pointer, ref, &target, 1, &expected, why)
        } else {
            code = git_reference_create(&made, pointer, ref, &target, 0, why)
        }
        switch git_error_code(rawValue: code) {
        case GIT_EEXISTS, GIT_EMODIFIED, GIT_ENOTFOUND:
            git_error_clear()
            throw GitError(code: .modified, message: "\(ref) was moved by another program", libgit2Code: code)
        default: try check(code, "cannot move \(ref)")
        }
    }

    /// Whether a reference holds an object's name itself; true also for one that does not exist.
    fileprivate func isDirect(_ ref: String) throws(GitError) -> Bool {
        if let facts = commonDirectory.pushing(FilePath(ref)).facts(), facts.kind != .regular { return false }
        var reference: OpaquePointer?
        let code = git_reference_lookup(&reference, pointer, ref)
        if isAbsent(code) { return true }
        try check(code, "cannot read \(ref)")
        defer { git_reference_free(reference) }
        return git_reference_type(reference) == GIT_REFERENCE_DIRECT
    }

    fileprivate func leadsHEAD(to ref: String) -> Bool {
        var head: OpaquePointer?
        guard git_reference_lookup(&head, pointer, "HEAD") == 0 else { return false }
        defer { git_reference_free(head) }
        return git_reference_symbolic_target(head).map { String(cString: $0) } == ref
    }
}
