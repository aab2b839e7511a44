import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import System

@Suite struct ChildProcessTests {
    private static let environment = ["PATH": "/usr/bin:/bin"]

    /// Runs a shell script on a thread of its own.
    private func sh(
        _ script: String, input: [UInt8] = [], timeout: Duration = .seconds(30)
    ) async throws -> ChildProcess.Outcome {
        try await PosixThread.run(named: "test") {
            Result { () throws(Errno) in
                try ChildProcess.run(
                    ["sh", "-c", script], environment: Self.environment, directory: "/", input: input,
                    timeout: timeout)
            }
        }.get()
    }

    /// Our threads block every signal, and some of our programs ignore SIGPIPE.
    @Test func noSignalIsBlockedOrIgnored() async throws {
        let status = try await sh("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f 2").output
        let sets = String(decoding: status, as: UTF8.self).split(separator: "\n").map {
            UInt64($0, radix: 16)
        }
        // 32 and 33 are glibc's own: no program can change what it was started with.
        let others = ~(UInt64(0b11) << 31)
        #expect(sets.map { $0.map { $0 & others } } == [0, 0])
    }

    @Test func noOtherDescriptorIsThere() async throws {
        // Without O_CLOEXEC, and with a number that the program's own get.
        let descriptor = OwnedDescriptor(open("/dev/null", O_RDONLY))
        // The last is the listing's own.
        let listed = try await sh("ls /proc/self/fd").output
        #expect(String(decoding: listed, as: UTF8.self) == "0\n1\n2\n3\n")
        #expect(fcntl(descriptor.raw, F_GETFD) >= 0)
    }

    @Test func isToldAndHeard() async throws {
        let outcome = try await sh(
            "cat; echo wrong >&2; env; pwd; exit 3", input: Array(repeating: 65, count: 200_000))
        let text = String(decoding: outcome.output.drop { $0 == 65 }, as: UTF8.self)
        #expect(outcome.output.count == 200_000 + text.utf8.count)
        // PWD and its like are sh's own.
        #expect(text.contains("PATH=/usr/bin:/bin\n") && !text.contains("HOME="))
        #expect(text.hasSuffix("\n/\n"))
        #expect(outcome.errors == "wrong\n")
        #expect(outcome.status == 3)
    }

    @Test func endsAreTold() throws {
        func end(_ script: String) throws -> ChildProcess.End {
            try ChildProcess(
                ["sh", "-c", script], environment: Self.environment, descriptors: [nil, nil, nil]
            ).wait()
        }
        #expect(try end("exit 7") == .exited(7))
        #expect(try end("kill -TERM $$") == .signalled(SIGTERM))
        #expect(ChildProcess.End.signalled(SIGTERM).status == 143)
        #expect(throws: Errno.noSuchFileOrDirectory) {
            try ChildProcess(["/proc/nowhere"], environment: [:], descriptors: [nil, nil, nil])
        }
    }

    @Test func isEndedWithAllThatItStarted() throws {
        let start = ContinuousClock.now
        // The child's child holds the pipe: only when it is ended, too, does the pipe have an end.
        let outcome = try ChildProcess.run(
            ["sh", "-c", "sleep 600 & echo begun; wait"], environment: Self.environment,
            timeout: .milliseconds(300))
        #expect(outcome.status == 124)
        #expect(outcome.output.isEmpty)
        #expect(ContinuousClock.now - start < .seconds(300))
    }

    @Test func writingWithoutEndIsEnded() async throws {
        #expect(try await sh("yes").status == 124)
        #expect(try await sh("yes >&2").status == 124)
    }

    @Test func waitingHasALimit() throws {
        let child = try ChildProcess(
            ["sleep", "60"], environment: Self.environment, descriptors: [nil, nil, nil])
        #expect(!child.waitForEnd(atMost: .milliseconds(50)))
        child.kill()
        #expect(child.waitForEnd(atMost: .seconds(30)))
        #expect(child.wait() == .signalled(SIGKILL))
    }
}
