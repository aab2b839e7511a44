import Dispatch
import Glibc
import Synchronization
import SystemPackage
import TestKit

/// A committer that works without an end. A test would wait for it as long; this gives up.
enum EndlessWork {
    /// Seconds of the processor that the thread of a store may take: many times what any attack takes, and not longer on a
    /// machine that has other things to do.
    private static let usual = 60.0
    /// After so long, work that waits for something that never comes is given up, too.
    private static let patience = Duration.seconds(1200)

    /// What the work returns.
    ///
    /// - Parameters:
    ///   - store: the store whose committer works; its name, of up to 11 bytes, is that of no other test's.
    ///   - most: another bound than the usual one.
    ///   - work: what is waited for. It goes on when it is given up, until this process ends.
    /// - Throws: `TestFailure` when there will be no end.
    static func notice<Value: Sendable>(
        _ store: String, most: Double = usual, _ work: @escaping @Sendable () async -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let answer = Answer(continuation)
            Task { answer.give(.success(await work())) }
            Thread.start {
                let start = ContinuousClock.now
                while !answer.isGiven(within: .milliseconds(500)) {
                    let taken = Self.processorTime("git \(store)")
                    guard taken > most || ContinuousClock.now - start > patience else { continue }
                    answer.give(
                        .failure(TestFailure("the committer of \(store) does not end: \(taken) s of work")))
                }
            }
        }
    }

    /// Seconds that threads of a name have used; those that ended do not count.
    private static func processorTime(_ name: String) -> Double {
        guard let stream = opendir("/proc/self/task") else { return 0 }
        defer { closedir(stream) }
        var ticks = 0
        while let entry = readdir(stream) {
            let task = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            // proc_pid_stat(5): the name in parentheses; of what follows, 12th and 13th are the times.
            guard let text = SystemFile.text("/proc/self/task/\(task)/stat"), text.contains("(\(name))"),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            if fields.count > 13 { ticks += (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0) }
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Given once.
    private final class Answer<Value: Sendable>: Sendable {
        private let continuation: Mutex<CheckedContinuation<Value, any Error>?>
        private let given = DispatchSemaphore(value: 0)

        init(_ continuation: CheckedContinuation<Value, any Error>) {
            self.continuation = Mutex(continuation)
        }

        func give(_ result: Result<Value, any Error>) {
            let waiting = continuation.withLock { $0.take() }
            waiting?.resume(with: result)
            if waiting != nil { given.signal() }
        }

        func isGiven(within time: DispatchTimeInterval) -> Bool {
            guard given.wait(timeout: .now() + time) == .success else { return false }
            given.signal()
            return true
        }
    }
}
