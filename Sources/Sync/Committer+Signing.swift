import Git
import Glibc
import Stores

/// Who commits, and what signs the commits.
extension Committer {
    /// Who commits to a repository: the author has the time of the change, the committer that of now.
    /// - Throws: where git has no identity and `user.useConfigOnly` forbids to guess one, as git does.
    func signatures(
        _ repository: Repository, changed: Int64
    ) throws(GitError) -> (author: Signature, committer: Signature) {
        let now = Int64(time(nil))
        let committer: Signature
        if let known = repository.defaultSignature(now: now) {
            committer = known
        } else {
            guard repository.configBool("user.useConfigOnly") != true else {
                throw GitError(
                    code: .invalid,
                    message:
                        "git has no identity there and user.useConfigOnly forbids to guess one: set user.name and "
                        + "user.email with git config")
            }
            committer = FallbackIdentity.signature(now: now)
        }
        var author = committer
        if changed > 0 { author.time = min(changed, now) }
        return (author, committer)
    }

    /// What signs the commits of a repository, nil when they are not signed.
    func signer(
        _ repository: Repository, _ who: Signature
    ) throws(GitError) -> (([UInt8]) throws -> [UInt8])? {
        do throws(CommitSigning.Failure) {
            return try CommitSigning(
                engine: store.engine, timeout: store.options.promptTimeout, ownKey: options.ownKey
            ).signer(of: repository, as: who)
        } catch {
            throw GitError(code: .other, message: error.message)
        }
    }
}
