import CGit

/// Who made a commit, and when.
public struct Signature: Sendable, Equatable {
    /// The name, as `user.name` gives it.
    public var name: String
    /// The address, as `user.email` gives it.
    public var email: String
    /// Seconds since 1970, UTC.
    public var time: Int64
    /// Minutes east of UTC.
    public var offsetMinutes: Int

    /// A signature of these parts.
    public init(name: String, email: String, time: Int64, offsetMinutes: Int) {
        self.name = name
        self.email = email
        self.time = time
        self.offsetMinutes = offsetMinutes
    }

    init(_ signature: git_signature) {
        name = String(cString: signature.name)
        email = String(cString: signature.email)
        time = signature.when.time
        offsetMinutes = Int(signature.when.offset)
    }

    /// Lends libgit2's form of it, which lives as long as the call of `use`.
    func with(_ use: (UnsafePointer<git_signature>) -> Int32) throws(GitError) -> Int32 {
        var pointer: UnsafeMutablePointer<git_signature>?
        try check(
            git_signature_new(&pointer, name, email, time, Int32(offsetMinutes)),
            "cannot sign as '\(name) <\(email)>'")
        defer { git_signature_free(pointer) }
        return use(pointer!)
    }
}
