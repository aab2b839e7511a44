import Dispatch
import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import System

@Suite struct PosixThreadTests {
    /// What /proc says of the calling thread (proc_pid_status(5)).
    private static func status(_ field: String) -> String? {
        guard let file = fopen("/proc/thread-self/status", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 4096)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.hasPrefix(field + ":") {
                return String(text.dropFirst(field.count + 1).drop { $0 == "\t" }.dropLast())
            }
        }
        return nil
    }

    @Test func hasItsNameAndTakesNoSignal() throws {
        let seen = Mutex<[String?]>([])
        let thread = try PosixThread(named: "a test's thread") {
            seen.withLock { $0 = [Self.status("Name"), Self.status("SigBlk")] }
        }
        thread.join()
        let found = seen.withLock { $0 }
        #expect(found[0] == "a test's thread")
        // Bit N - 1 is signal N. SIGKILL (9) and SIGSTOP (19) cannot be blocked, 32 and 33 glibc keeps for itself.
        let blocked = try #require(found[1].flatMap { UInt64($0, radix: 16) })
        let always: [UInt64] = [9, 19, 32, 33]
        #expect(~blocked & always.reduce(~0) { $0 & ~(1 << ($1 - 1)) } == 0)
    }

    @Test func theCallersMaskStays() throws {
        var (before, after) = (sigset_t(), sigset_t())
        pthread_sigmask(SIG_SETMASK, nil, &before)
        try PosixThread(named: "mask") {}.join()
        pthread_sigmask(SIG_SETMASK, nil, &after)
        for signal in [SIGTERM, SIGINT, SIGUSR1] {
            #expect(sigismember(&before, signal) == sigismember(&after, signal))
        }
    }

    @Test func noneIsBlockedWhereProgramsAreForked() throws {
        let seen = Mutex<[String?]>([])
        try PosixThread(named: "forks") {
            SignalMask.withNoneBlocked { seen.withLock { $0.append(Self.status("SigBlk")) } }
            seen.withLock { $0.append(Self.status("SigBlk")) }
        }.join()
        let found = seen.withLock { $0 }.compactMap { $0.flatMap { UInt64($0, radix: 16) } }
        #expect(found.count == 2)
        #expect(found.first == 0)
        #expect(found.last != 0)
    }

    @Test func aThreadThatCannotBeHadIsAnError() throws {
        // Half of what a process can address: there is no room for such a stack.
        #expect(throws: Errno.resourceTemporarilyUnavailable) {
            try PosixThread.start(named: "giant", stackByteCount: 1 << 47) {}
        }
        #expect(throws: Errno.resourceTemporarilyUnavailable) {
            try PosixThread(named: "giant", stackByteCount: 1 << 47) {}
        }
    }

    @Test func workWaitsForAThreadOfItsOwn() async throws {
        let caller = pthread_self()
        let isOther = await PosixThread.run(named: "work") { pthread_equal(pthread_self(), caller) == 0 }
        #expect(isOther)
    }

    /// While there is no thread, nothing runs, nothing is lost, and nothing ends the process.
    @Test(arguments: [true, false]) func startsWaitUntilThereIsRoom(isPrepared: Bool) async throws {
        let isFull = Mutex(false)
        let starts = DeferredStarts { (start) throws(Errno) in
            guard !isFull.withLock({ $0 }) else { throw .resourceTemporarilyUnavailable }
            try PosixThread.start(named: start.name, start.body)
        }
        if isPrepared { try starts.prepare() }
        isFull.withLock { $0 = true }
        let done = DispatchSemaphore(value: 0)
        let order = Mutex<[Int]>([])
        for number in 0..<3 {
            starts.add(
                .init(name: "waits") {
                    order.withLock { $0.append(number) }
                    done.signal()
                })
        }
        #expect(order.withLock { $0.isEmpty })
        isFull.withLock { $0 = false }
        // Without a thread that tries again, the next start does.
        if !isPrepared { starts.add(.init(name: "next") { done.signal() }) }
        let count = isPrepared ? 3 : 4
        await PosixThread.run(named: "waits for all") { for _ in 0..<count { done.wait() } }
        #expect(order.withLock { $0.sorted() } == [0, 1, 2])
    }

    /// Work that comes while other work goes on gets a thread of its own; an idle one ends, and work that comes after that gets
    /// another.
    @Test func workWaitsForNoOtherWork() throws {
        let started = Atomic(0)
        let ended = Monitor(0)
        let threads = ReusedThreads(idleSeconds: 0.05) { (body) throws(Errno) in
            started.add(1, ordering: .relaxed)
            try PosixThread.startNew(named: "test") {
                body()
                ended.withLock { $0 += 1 }
                ended.broadcast()
            }
        }
        let (done, go) = (Monitor([pid_t]()), Monitor(false))
        func start(waits: Bool = false) throws {
            try threads.start(
                PosixThread.Work(name: "test") {
                    if waits { go.waiting { isTime, _ in isTime ? .done(()) : .wait(until: nil) } }
                    done.withLock { $0.append(PosixThread.currentIdentifier) }
                    done.broadcast()
                })
        }
        func waitForDone(_ count: Int) -> [pid_t] {
            done.waiting { done, _ in done.count == count ? .done(done) : .wait(until: nil) }
        }
        try start(waits: true)
        try start()
        // Beside the one that waits.
        _ = waitForDone(1)
        #expect(started.load(ordering: .relaxed) == 2)
        go.withLock { $0 = true }
        go.broadcast()
        #expect(Set(waitForDone(2)).count == 2)
        ended.waiting { ended, _ in ended == 2 ? .done(()) : .wait(until: nil) }
        try start()
        #expect(Set(waitForDone(3)).count <= 3 && started.load(ordering: .relaxed) == 3)
    }

    @Test func threadsAreUsedAgain() throws {
        let started = Atomic(0)
        let threads = ReusedThreads(idleSeconds: 20) { (body) throws(Errno) in
            started.add(1, ordering: .relaxed)
            try PosixThread.startNew(named: "test", body)
        }
        // Work may come in the moment in which a thread is no longer at work and not idle yet, but not each time.
        let done = Monitor(0)
        for number in 1...200 {
            try threads.start(
                PosixThread.Work(name: "test") {
                    done.withLock { $0 += 1 }
                    done.broadcast()
                })
            done.waiting { done, _ in done == number ? .done(()) : .wait(until: nil) }
        }
        #expect(started.load(ordering: .relaxed) < 200)
    }

    /// Where the system has no thread to give, the caller is told, and nothing is left that a later thread would do.
    @Test func workForWhichThereIsNoThreadIsGivenBack() throws {
        let threads = ReusedThreads(idleSeconds: 0.01) { (_) throws(Errno) in
            throw .resourceTemporarilyUnavailable
        }
        let runs = Atomic(0)
        for _ in 0..<2 {
            #expect(throws: Errno.resourceTemporarilyUnavailable) {
                try threads.start(PosixThread.Work(name: "test") { runs.add(1, ordering: .relaxed) })
            }
        }
        #expect(runs.load(ordering: .relaxed) == 0)
    }

    /// What was done is let go of at once: an idle thread keeps nothing alive.
    @Test func anIdleThreadHoldsNothing() throws {
        final class Witness: Sendable {
            let gone: Monitor<Bool>
            init(_ gone: Monitor<Bool>) { self.gone = gone }
            deinit {
                gone.withLock { $0 = true }
                gone.broadcast()
            }
        }
        let threads = ReusedThreads(idleSeconds: 20) { (body) throws(Errno) in
            try PosixThread.startNew(named: "test", body)
        }
        let gone = Monitor(false)
        try threads.start(
            PosixThread.Work(name: "test") { [witness = Witness(gone)] in withExtendedLifetime(witness) {} })
        let isGone = gone.waiting { gone, timeIsOver in
            gone || timeIsOver ? .done(gone) : .wait(until: MonotonicTime(secondsFromNow: 10))
        }
        #expect(isGone)
    }
}
