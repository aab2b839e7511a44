import Daemon
import Dispatch
import Glibc
import Synchronization
import TestKit
import Testing

@Suite struct TerminationSignalsTests {
    @Test func signalsAreToldAndNotInherited() throws {
        let told = Mutex<[Int32]>([])
        let semaphore = DispatchSemaphore(value: 0)
        defer { for number in TerminationSignals.caught { signal(number, SIG_DFL) } }
        try TerminationSignals.start { number in
            told.withLock { $0.append(number) }
            semaphore.signal()
        }
        for number in TerminationSignals.caught {
            kill(getpid(), number)
            #expect(semaphore.wait(timeout: .now() + .seconds(10)) == .success)
        }
        #expect(told.withLock { $0 } == TerminationSignals.caught)

        // A write to a pipe that nobody reads is an error, not our end.
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        #expect(write(ends[1], "x", 1) == -1 && errno == EPIPE)
        close(ends[1])

        // A program that we start is ended by the signals as any other is.
        try TestHome.with { home in
            for number in TerminationSignals.caught + [SIGPIPE] {
                let result = try home.run(["sh", "-c", "kill -\(number) $$; echo alive"])
                #expect(result.exitCode == 128 + number && result.output == "", "signal \(number)")
            }
        }
    }
}
