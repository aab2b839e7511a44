import Glibc
import Synchronization

/// Places at which a test may kill the process, to see what a crash leaves there, or let others do something.
///
/// `PASSDIR_FAULT=commit.before-ref` kills at the first pass of that place, `commit.before-ref:3` at the third. Only
/// in builds for tests: a release has none of it.
enum Fault {
    #if DEBUG
        private static let wanted: (place: String, pass: Int)? = {
            guard let text = getenv("PASSDIR_FAULT").map({ String(cString: $0) }) else { return nil }
            let parts = text.split(separator: ":", maxSplits: 1)
            guard let place = parts.first else { return nil }
            return (String(place), parts.count == 2 ? Int(parts[1]) ?? 1 : 1)
        }()
        private static let passes = Atomic<Int>(0)
        /// What a test does there instead, in its own task and what that waits for.
        @TaskLocal static var onPoint: (@Sendable (String) -> Void)?
    #endif

    /// Dies here when the environment asks for it.
    static func point(_ place: String) {
        #if DEBUG
            onPoint?(place)
            guard let wanted, wanted.place == place else { return }
            if passes.wrappingAdd(1, ordering: .relaxed).newValue == wanted.pass { kill(getpid(), SIGKILL) }
        #endif
    }
}
