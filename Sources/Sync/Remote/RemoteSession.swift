import Git
import Logging
import Stores
import SystemPackage

/// What was learned of the remotes of a store in exchanges before, by the tops of its repositories.
final class RemoteMemory {
    /// The remote commits whose history was looked at and can be taken in.
    var soundTips: [FilePath: ObjectID] = [:]
    /// Force-moved branches that were noticed: what was remembered of them may not be written yet.
    var rewritings: [FilePath: (old: ObjectID, new: ObjectID)] = [:]
}

/// One repository of a store, opened, and the branch on a remote that its branch goes with: what is there, what was last seen
/// there, fetches and pushes.
///
/// The repository is opened once for an exchange, and once more after each transfer and before what must go by today's
/// settings: while a transfer runs the user may change them. Stays with one thread at a time, as the repository does.
final class RemoteSession {
    let state: StoreState
    let memory: RemoteMemory
    let target: SyncTarget
    private(set) var part: RepositoryPart
    var repository: Repository { part.repository }
    var store: Store { state.store }
    var options: Committer.Options { state.options }
    var log: Logger { state.log }
    /// The folder that the user knows it by.
    var place: FilePath { target.nested.isEmpty ? store.root.path : store.root.path.pushing(target.nested) }

    /// A session for the branch that is checked out.
    /// - Parameter place: the repository's top below the store's folder; empty for the store's own.
    /// - Returns: nil where there is no repository any more, or no branch, or no remote that goes with it.
    init?(at place: FilePath, _ state: StoreState, _ memory: RemoteMemory) throws(SyncFailure) {
        let found = try telling("cannot reach the remote") {
            () throws(GitError) -> (RepositoryPart, SyncTarget)? in
            guard let part = try state.repository(at: place),
                case .branch(_, let ref, _) = try part.repository.head(),
                let target = try SyncTarget(of: ref, in: part.repository, nested: place)
            else { return nil }
            return (part, target)
        }
        guard let found else { return nil }
        (part, target) = found
        self.state = state
        self.memory = memory
    }

    /// Opens the repository anew, so that settings that changed meanwhile count.
    func reopen() throws(SyncFailure) {
        do throws(GitError) {
            guard let part = try state.repository(at: target.nested),
                part.repository.gitDirectory == target.repository
            else {
                throw GitError(
                    code: .notFound,
                    message: store.repositories.reasonToLeaveTopAlone
                        ?? "the repository \(target.repository) is gone")
            }
            self.part = part
        } catch {
            throw SyncFailure(kind: .passing, message: "\(error.message).")
        }
    }

    /// The remote's URL; its name where that is one.
    var url: String { repository.url(ofRemote: target.remote) ?? target.remote }

    /// What the remote branch was last seen at; nil when nobody has seen it.
    func known() throws(GitError) -> ObjectID? { try target.known(in: repository) }

    /// The tip of our branch; nil before the first commit.
    func tip() throws(GitError) -> ObjectID? { try repository.commit(at: target.localRef) }

    /// What the remote lacks; nil when it has all of our branch, as far as is known.
    func tipToPush() throws(SyncFailure) -> ObjectID? {
        try telling("cannot push") { () throws(GitError) in
            guard let tip = try tip() else { return nil }
            if target.nested.isEmpty { state.withLock { $0.offered = tip } }
            guard let known = try known() else { return tip }
            if known == tip { return nil }
            return try repository.isAncestor(tip, of: known) ? nil : tip
        }
    }

    /// Whether the remote's name stands for another URL than the one that was last fetched from.
    var isOtherRemote: Bool {
        guard let last = store.fact(target.fact("remote")) else { return false }
        return !RemoteURL.areSame(last, GitError.withoutPasswords(url))
    }

    /// Whether a repository's remote is where the store's own is; a repository inside the store may have any.
    func isOnTheStoresServer() throws(SyncFailure) -> Bool {
        if target.nested.isEmpty { return true }
        guard let own = (try? RemoteSession(at: FilePath(), state, memory)) ?? nil,
            let server = Self.server(own.url)
        else { return false }
        return Self.server(url) == server
    }

    /// The part of a URL that says whom one talks to, and how: `https://host:443`; nil for a folder.
    private static func server(_ url: String) -> String? {
        guard let known = RemoteURL(url), !known.host.isEmpty else { return nil }
        guard let mark = url.firstRange(of: "://") else { return "ssh://\(known.host)" }
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.split(separator: "@").last ?? authority
        return (url[..<mark.upperBound] + place).lowercased()
    }

    /// What a user's own merge or rebase has begun is left alone.
    func refuseUnfinished() throws(SyncFailure) {
        guard let operation = repository.operation else { return }
        throw SyncFailure(
            kind: .lasting,
            message:
                "the remote's changes are pending because \(operation) is unfinished in \(place): finish it with git."
        )
    }

    /// `git status` and its kind go by the reference that `git fetch` keeps. Nobody's fetch may fail because of us,
    /// so it is left as it is where somebody is at work or it leads elsewhere.
    /// - Parameter isForced: the user has chosen that what git's reference leads to is left.
    func followInGit(_ commit: ObjectID, isForced: Bool = false) {
        defer { noteSeenByGit() }
        guard let ref = target.gitRef, !GitTraffic.isBusy(part.top) else { return }
        let old = try? repository.commit(at: ref)
        if let old = old ?? nil {
            guard old != commit, isForced || (try? repository.isAncestor(old, of: commit)) == true else {
                return
            }
        }
        guard let (_, who) = try? repository.signatures() else { return }
        try? repository.move(ref, from: old ?? nil, to: commit, as: who, "update by passdir")
    }

    /// What git's reference leads to now is no news of later.
    func noteSeenByGit() {
        guard let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil else { return }
        try? repository.set(target.seenRef, to: seen)
    }
}
