import Synchronization
import System

/// Work that blocks, done by a few threads of its own.
public enum Workers {
    /// Calls `body` with 0 to `count` - 1, each once, from up to `threads` threads; returns when all have returned.
    public static func forEach(_ count: Int, threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let queue = Queue(count: count, body: body)
        let started = (1..<max(1, min(threads, count))).compactMap { _ in
            // Fewer threads are slower, nothing else.
            try? PosixThread(named: "stores") { queue.run() }
        }
        queue.run()
        for thread in started { thread.join() }
    }

    private final class Queue: Sendable {
        private let next = Atomic<Int>(0)
        private let count: Int
        private let body: @Sendable (Int) -> Void

        init(count: Int, body: @escaping @Sendable (Int) -> Void) {
            self.count = count
            self.body = body
        }

        func run() {
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                body(index)
            }
        }
    }
}
