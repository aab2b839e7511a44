import Glibc

/// How far a test goes: a short way in the suite, all the way in `scripts/soak`.
enum Soak {
    /// The number that `scripts/soak` was called with; nil in the suite.
    static let count: Int? = getenv("PASSDIR_SOAK").flatMap { Int(String(cString: $0)) }
}
