import Glibc
import Synchronization
import System
import SystemPackage
import Testing

@testable import Fuse

/// One waiting request stops nobody else, and whoever waits can be interrupted.
@Suite(.timeLimit(.minutes(2)), .enabled(if: canMount), .serialized)
struct BlockingTests {
    /// Makes an open of "slow…" wait until it is interrupted or the test is over. Counts both.
    private final class SlowOpens: Sendable {
        let counts = Monitor((waiting: 0, bodies: 0))

        func install(_ mount: TestMount) {
            mount.filesystem.onOpen.withLock {
                $0 = { [self] caller, name throws(Errno) in
                    guard name.string.hasPrefix("slow") else { return }
                    try wait(caller, mount.release)
                }
            }
        }

        private func wait(_ caller: Caller, _ release: Gate) throws(Errno) {
            let gate = Gate()
            caller.onInterrupt {
                self.counts.withLock { $0.bodies += 1 }
                self.counts.broadcast()
                gate.open()
            }
            counts.withLock { $0.waiting += 1 }
            counts.broadcast()
            while !gate.wait(seconds: 0.2) {
                if release.wait(seconds: 0) { return }
            }
            guard caller.isInterrupted else { throw .ioError }
            throw .interrupted
        }

        func wait(untilWaiting count: Int) -> Bool {
            let deadline = MonotonicTime(secondsFromNow: 20)
            return counts.waiting { counts, timeIsOver in
                counts.waiting >= count || timeIsOver
                    ? .done(counts.waiting >= count) : .wait(until: deadline)
            }
        }
    }

    @Test func blockedOpensLeaveTwoHundredOthersRunning() async throws {
        try await TestMount.with { mount in
            let slow = SlowOpens()
            slow.install(mount)
            try await onThread {
                try Client.write(mount.file("quick"), Array("quick".utf8))
                for number in 0..<20 { try Client.write(mount.file("slow\(number)"), [1]) }
            }
            let done = Atomic(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        _ = try await onThread { try Client.read(mount.file("slow\(number)")) }
                    }
                }
                let areWaiting = try await onThread { slow.wait(untilWaiting: 20) }
                #expect(areWaiting)
                try await withThrowingTaskGroup(of: Void.self) { quick in
                    for _ in 0..<200 {
                        quick.addTask {
                            let bytes = try await onThread { try Client.read(mount.file("quick")) }
                            #expect(bytes == Array("quick".utf8))
                        }
                    }
                    try await quick.waitForAll()
                }
                done.store(1, ordering: .relaxed)
                mount.release.open()
                try await group.waitForAll()
            }
            #expect(done.load(ordering: .relaxed) == 1)
        }
    }

    private struct Weak: Sendable {
        weak let caller: Caller?
        init(_ caller: Caller) { self.caller = caller }
    }

    /// Opens in a thread that a signal can interrupt; returns the errno, 0 for success.
    private static func interruptibleOpen(_ path: FilePath, started: @Sendable (pthread_t) -> Void) -> Int32 {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGUSR1)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        started(pthread_self())
        let file = open(path.string, O_RDONLY)
        guard file < 0 else {
            close(file)
            return 0
        }
        return errno
    }

    private func installSignalHandler() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR1, &action, nil)
    }

    @Test func aSignalEndsABlockedOpen() async throws {
        installSignalHandler()
        try await TestMount.with { mount in
            let slow = SlowOpens()
            slow.install(mount)
            try await onThread { try Client.write(mount.file("slow"), [1]) }
            let client = Mutex<pthread_t?>(nil)
            let opening = try Started {
                Self.interruptibleOpen(mount.file("slow")) { thread in client.withLock { $0 = thread } }
            }
            let isWaiting = try await onThread { slow.wait(untilWaiting: 1) }
            #expect(isWaiting)
            let thread = try #require(client.withLock { $0 })
            #expect(pthread_kill(thread, SIGUSR1) == 0)
            let outcome = try await onThread { try opening.value() }
            #expect(outcome == EINTR)
            #expect(slow.counts.withLock { $0.bodies } == 1)
        }
    }

    @Test func controlCEndsAProgramThatOpens() async throws {
        try await TestMount.with { mount in
            let slow = SlowOpens()
            slow.install(mount)
            try await onThread { try Client.write(mount.file("slow"), [1]) }
            let status = try await onThread {
                var child: pid_t = 0
                let words = ["cat", mount.file("slow").string]
                let arguments = words.map { word in strdup(word) } + [nil]
                defer { for argument in arguments { free(argument) } }
                // The threads of a test have signals blocked, which a child would inherit.
                var attributes = posix_spawnattr_t()
                posix_spawnattr_init(&attributes)
                var none = sigset_t()
                sigemptyset(&none)
                posix_spawnattr_setsigmask(&attributes, &none)
                posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
                try #require(posix_spawnp(&child, "cat", nil, &attributes, arguments, nil) == 0)
                posix_spawnattr_destroy(&attributes)
                #expect(slow.wait(untilWaiting: 1))
                #expect(kill(child, SIGINT) == 0)
                var status: Int32 = 0
                try #require(waitpid(child, &status, 0) == child)
                return status
            }
            #expect(status & 0x7f == SIGINT)
            #expect(slow.counts.withLock { $0.bodies } == 1)
        }
    }

    /// Signals at random moments: while an open waits, is about to be answered, was answered. Each open ends with
    /// success or EINTR, each body runs at most once an open, and (with a sanitizer) nothing is used after its end.
    @Test func manyInterruptsAtAnyMoment() async throws {
        installSignalHandler()
        try await TestMount.with { mount in
            let opens = Atomic(0)
            let bodies = Atomic(0)
            let callers = Mutex<[Weak]>([])
            mount.filesystem.onOpen.withLock {
                $0 = { caller, name throws(Errno) in
                    guard name.string == "racy" else { return }
                    let gate = Gate()
                    let hasRun = Atomic(false)
                    opens.add(1, ordering: .relaxed)
                    callers.withLock { $0.append(Weak(caller)) }
                    caller.onInterrupt {
                        let before = hasRun.exchange(true, ordering: .relaxed)
                        #expect(!before, "a body runs once")
                        bodies.add(1, ordering: .relaxed)
                        gate.open()
                    }
                    if gate.wait(seconds: Double.random(in: 0...0.002)) { throw .interrupted }
                }
            }
            try await onThread { try Client.write(mount.file("racy"), [1]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let outcomes = try await onThread { try Self.storm(mount.file("racy"), rounds: 150) }
                        #expect(outcomes.isSubset(of: [0, EINTR]))
                    }
                }
                try await group.waitForAll()
            }
            // The last release has no waiter, but what was open before it is answered.
            try mount.session.unmount(lazily: true)
            let hasEnded = try await onThread { mount.ended.wait(seconds: 20) }
            #expect(hasEnded)
            #expect(
                callers.withLock { $0.allSatisfy { $0.caller == nil } }, "no caller outlives its answer")
            #expect(opens.load(ordering: .relaxed) > 1000)
            #expect(bodies.load(ordering: .relaxed) > 100)
            #expect(bodies.load(ordering: .relaxed) <= opens.load(ordering: .relaxed))
        }
    }

    /// Opens again and again while a second thread sends signals; returns what came of it.
    private static func storm(_ path: FilePath, rounds: Int) throws -> Set<Int32> {
        let isOver = Atomic(false)
        let client = pthread_self()
        let sender = try PosixThread(named: "sender") {
            while !isOver.load(ordering: .acquiring) {
                pthread_kill(client, SIGUSR1)
                usleep(UInt32.random(in: 0...1500))
            }
        }
        var outcomes: Set<Int32> = []
        for _ in 0..<rounds { outcomes.insert(interruptibleOpen(path) { _ in }) }
        isOver.store(true, ordering: .releasing)
        // Before this thread ends: a signal to a thread that has ended is undefined.
        sender.join()
        return outcomes
    }
}
