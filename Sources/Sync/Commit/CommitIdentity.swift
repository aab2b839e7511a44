import Git
import Glibc
import Stores

extension Repository {
    /// Who commits: the author has the time of the change, the committer that of now.
    /// - Parameter changed: in seconds since 1970; 0 for now.
    /// - Throws: where git has no identity and `user.useConfigOnly` forbids to guess one, as git does.
    func signatures(changed: Int64 = 0) throws(GitError) -> (author: Signature, committer: Signature) {
        let now = Int64(time(nil))
        let committer: Signature
        if let known = defaultSignature(now: now) {
            committer = known
        } else {
            guard configBool("user.useConfigOnly") != true else {
                throw GitError(
                    code: .invalid,
                    message:
                        "git has no identity there and user.useConfigOnly forbids guessing one: set user.name and "
                        + "user.email with git config")
            }
            committer = FallbackIdentity.signature(now: now)
        }
        var author = committer
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
