/// A look at something that may not answer, such as a disk. It runs on a thread of its own, which lives on when nobody
/// waits for it any more; whoever asks while it runs gets the next one, so that there is never more than one thread.
public final class RepeatedLook<Finding: Sendable>: Sendable {
    private struct State: Sendable {
        /// Looks that have begun, and how many of them have ended.
        var begun: UInt64 = 0
        var ended: UInt64 = 0
        /// What was asked for while a look was running.
        var next: (@Sendable () -> Finding)?
        var last: Finding?
        /// Where and since when the running look runs.
        var thread: Int32 = 0
        var start = ContinuousClock.now
    }

    /// How long a server of files may take for one answer, and a disk for one block.
    private static var serverPatience: Duration { .milliseconds(40) }
    private static var devicePatience: Duration { .seconds(1) }
    /// The kernel has no event for a thread that waits too long: it is looked at this often.
    private static var pause: Duration { .milliseconds(20) }

    private let name: String
    private let state = Monitor(State())

    /// - Parameter name: of the thread.
    public init(named name: String) {
        self.name = name
    }

    /// What the newest look that has ended found; nil before the first.
    public var last: Finding? { state.withLock { $0.last } }

    /// How long the running look has been running; nil when none is.
    public var runningTime: Duration? {
        state.withLock { $0.begun == $0.ended ? nil : ContinuousClock.now - $0.start }
    }

    /// Begins to look, or will as soon as the running look has ended. Only where no thread can be had does the look run
    /// here, before this returns.
    /// - Returns: the look's number, to wait for.
    @discardableResult
    public func begin(_ look: @escaping @Sendable () -> Finding) -> UInt64 {
        let (number, mustStart) = state.withLock { state in
            guard state.begun == state.ended else {
                state.next = look
                return (state.begun + 1, false)
            }
            state.begun += 1
            state.start = .now
            state.thread = 0
            return (state.begun, true)
        }
        guard mustStart else { return number }
        do {
            try PosixThread.start(named: name) { [self] in run(look, on: PosixThread.currentIdentifier) }
        } catch {
            run(look, on: 0)
        }
        return number
    }

    private func run(_ first: @escaping @Sendable () -> Finding, on thread: Int32) {
        state.withLock { $0.thread = thread }
        var look = first
        while true {
            let finding = look()
            let next = state.withLock { state in
                state.last = finding
                state.ended = state.begun
                guard let next = state.next else { return Optional<@Sendable () -> Finding>.none }
                state.next = nil
                state.begun += 1
                state.start = .now
                return next
            }
            state.broadcast()
            guard let next else { return }
            look = next
        }
    }

    /// What a look has found, as soon as it has ended; nil when it has not in time.
    public func finding(of number: UInt64, until deadline: MonotonicTime) -> Finding? {
        state.waiting { state, timeIsOver in
            if state.ended >= number { return .done(state.last) }
            return timeIsOver ? .done(nil) : .wait(until: deadline)
        }
    }

    /// What a look has found, as soon as it has ended; nil when the look that runs meanwhile is stuck at a server of files
    /// or a disk that does not answer, or when the patience is over. Slow work and locks are waited for.
    /// - Parameter silence: how long one answer may take, whoever is to give it; nil: what is usual for a server of files that
    ///   is near, and for a disk.
    public func finding(of number: UInt64, patience: Duration, silence: Duration? = nil) -> Finding? {
        let end = ContinuousClock.now + patience
        var seen: (wait: ThreadWait, since: ContinuousClock.Instant)?
        while true {
            let next = MonotonicTime(secondsFromNow: Self.pause / .seconds(1))
            if let finding = finding(of: number, until: next) { return finding }
            let (thread, start) = state.withLock { ($0.thread, $0.start) }
            let wait = ThreadWait(ofThread: thread)
            let now = ContinuousClock.now
            guard now < end else { return nil }
            if let before = seen, before.wait == wait {
                switch wait.cause {
                case .server:
                    if silence.map({ before.since + $0 <= now }) ?? (start + Self.serverPatience <= now) {
                        return nil
                    }
                case .device: if before.since + (silence ?? Self.devicePatience) <= now { return nil }
                case .none, .ours: break
                }
            } else {
                seen = (wait, now)
            }
        }
    }

    /// One look by itself, which nobody repeats: what it finds; nil when it is stuck, or when the patience is over.
    public static func once(
        named name: String, patience: Duration = .seconds(7), _ look: @escaping @Sendable () -> Finding
    ) -> Finding? {
        let looking = RepeatedLook(named: name)
        return looking.finding(of: looking.begin(look), patience: patience)
    }
}
