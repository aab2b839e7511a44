import CGit
import Glibc

/// Where HEAD points.
public enum Head: Sendable, Equatable {
    /// A branch; `commit` is nil while it has none (an unborn branch).
    case branch(name: String, ref: String, commit: ObjectID?)
    /// A commit, no branch.
    case detached(ObjectID)
}

extension Repository {
    /// Where HEAD points now.
    public func head() throws(GitError) -> Head {
        let head = try Owned("cannot read HEAD", free: git_reference_free) {
            git_reference_lookup(&$0, pointer, "HEAD")
        }
        guard let target = git_reference_symbolic_target(head.pointer) else {
            return .detached(ObjectID(git_reference_target(head.pointer).pointee))
        }
        let ref = String(cString: target)
        let name = ref.hasPrefix("refs/heads/") ? String(ref.dropFirst("refs/heads/".count)) : ref
        return .branch(name: name, ref: ref, commit: try commit(at: ref))
    }

    /// The commit that a reference (full name, `refs/heads/main`) points to; nil when it doesn't exist.
    public func commit(at ref: String) throws(GitError) -> ObjectID? {
        var oid = git_oid()
        let code = git_reference_name_to_id(&oid, pointer, ref)
        if isAbsent(code) { return nil }
        try check(code, "cannot read \(ref)")
        return ObjectID(oid)
    }

    /// The signature of `user.name` and `user.email`, in the zone of this machine; nil when either is unset.
    /// The environment (`GIT_AUTHOR_NAME` and its kind) isn't looked at.
    /// - Parameter now: seconds since 1970.
    public func defaultSignature(now: Int64) -> Signature? {
        guard let name = config("user.name"), let email = config("user.email"), !name.isEmpty else {
            return nil
        }
        var clock = time_t(now)
        var local = tm()
        localtime_r(&clock, &local)
        return Signature(name: name, email: email, time: now, offsetMinutes: local.tm_gmtoff / 60)
    }
}
