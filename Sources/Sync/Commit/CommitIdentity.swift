import Git
import Glibc
import Stores

/// Who commits by the variables of who started a command; git(1).
public struct GivenIdentity: Sendable, Equatable {
    /// GIT_AUTHOR_NAME, and its kind; nil where it is not set.
    public var authorName, authorEmail, committerName, committerEmail: String?

    /// What an environment says; an empty variable says nothing.
    public init(environment: [String: String] = [:]) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        authorName = variable("GIT_AUTHOR_NAME")
        authorEmail = variable("GIT_AUTHOR_EMAIL")
        committerName = variable("GIT_COMMITTER_NAME")
        committerEmail = variable("GIT_COMMITTER_EMAIL")
    }
}

extension Repository {
    /// Who commits: the author has the time of the change, the committer that of now.
    /// - Parameters:
    ///   - changed: in seconds since 1970; 0 for now.
    ///   - given: what stands above git's configuration.
    /// - Throws: where git has no identity and `user.useConfigOnly` forbids to guess one, as git does.
    func signatures(
        changed: Int64 = 0, given: GivenIdentity = GivenIdentity()
    ) throws(GitError) -> (author: Signature, committer: Signature) {
        let now = Int64(time(nil))
        let isGiven = given.committerName != nil && given.committerEmail != nil
        var committer: Signature
        if let known = defaultSignature(now: now) {
            committer = known
        } else {
            guard isGiven || configBool("user.useConfigOnly") != true else {
                throw GitError(
                    code: .invalid,
                    message:
                        "git has no identity there and user.useConfigOnly forbids guessing one: set user.name and "
                        + "user.email with git config")
            }
            committer = FallbackIdentity.signature(now: now)
        }
        var author = committer
        if let name = given.authorName { author.name = name }
        if let email = given.authorEmail { author.email = email }
        if let name = given.committerName { committer.name = name }
        if let email = given.committerEmail { committer.email = email }
        if changed > 0 { author.time = min(changed, now) }
        return (author, committer)
    }
}

extension StoreState {
    /// What signs the commits of a repository, nil when they are not signed.
    func signer(
        of repository: Repository, as who: Signature
    ) throws(GitError) -> (([UInt8]) throws -> [UInt8])? {
        try CommitSigning(
            engine: store.engine, timeout: store.options.promptTimeout, ownKey: options.ownKey
        ).signer(of: repository, as: who)
    }
}
