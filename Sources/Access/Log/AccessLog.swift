import Glibc
import Synchronization
import System
import SystemPackage

/// Notes who read what. On the path of an open a read is put into a queue, and nothing else: a thread of the log's own writes
/// it a moment later.
public final class AccessLog: Sendable {
    /// The name of the file, in the folder of the state.
    public static let fileName = "access.sqlite"

    private struct Queue {
        var options = AccessOptions()
        var events: [Event] = []
        var hasThread = false
        /// Reads for which there was no room in `events`, by their programs, and when the last was.
        var dropped: [String: (count: Int, last: Int64)] = [:]
        /// How often all that had come was taken to be written, and how many of these times are over.
        var (begun, ended) = (0, 0)
        var isFlushing = false
        /// Whether lines are to go for which the time is over: where nothing is noted, none that is new takes them along.
        var forgets = false
        /// Whether lines wait as another program holds the file.
        var isHeld = false
        var isClosed = false
    }

    /// A read, as it happened, and those like it that came right behind it.
    private struct Event {
        let read: JudgedRead
        let outcome: AccessOutcome
        let first: Int64
        var last: Int64
        var count = 1
        /// Whether it goes into the file, by the options of that time: another program may end the log a moment later.
        let isKept: Bool

        init(_ read: JudgedRead, _ outcome: AccessOutcome, at time: Int64, isKept: Bool) {
            (self.read, self.outcome, first, last, self.isKept) = (read, outcome, time, time, isKept)
        }

        func isLike(_ other: JudgedRead, _ outcome: AccessOutcome, isKept: Bool) -> Bool {
            self.outcome == outcome && self.isKept == isKept && read.isLike(other)
        }
    }

    /// What all events have alike that make one line.
    private struct Alike: Hashable {
        let process: Int32
        let startTime: UInt64
        let program: Program?
        let command: Int32?
        let secret: String
        let outcome: AccessOutcome

        init(_ event: Event) {
            let reader = event.read.reader
            (process, startTime) = (reader.process, reader.startTime)
            (program, command) = (reader.program, reader.command?.process)
            (secret, outcome) = (event.read.secret, event.outcome)
        }
    }

    /// More than this waits for no disk: the memory is not the log's.
    private let mostWaiting: Int
    /// How long lines wait that another program's hold on the file kept out, in seconds.
    private static let retry = 1.0
    /// How long reads gather before they are written, and how long it is from one time to the next, so that a program that reads
    /// on and on is written in few steps; in seconds.
    private static let (gathering, interval) = (0.1, 1.0)

    private let queue = Monitor(Queue())
    private let isNoting = Atomic(false)
    private let file: FilePath
    private let notices: AccessNotices
    private let opened = Mutex<AccessDatabase?>(nil)

    init(
        file: FilePath, mostWaiting: Int = 10_000,
        notify: @escaping @Sendable (_ title: String, _ body: String) -> Void
    ) {
        (self.file, self.mostWaiting) = (file, mostWaiting)
        notices = AccessNotices(notify)
    }

    /// Notes by these options from now on.
    func use(_ options: AccessOptions) {
        queue.withLock { $0.options = options }
        isNoting.store(options.isWatching, ordering: .releasing)
    }

    /// Has lines go for which the time is over, where nothing is logged; returns at once.
    func forgetOldLines() {
        let forgets = queue.withLock { queue in
            queue.forgets = !queue.options.isLogging && file.exists
            return queue.forgets
        }
        guard forgets else { return }
        queue.broadcast()
        startThread()
    }

    /// As `note(_:_:)`.
    func note(_ reader: Reader, _ secret: String, _ decision: Decision, _ outcome: AccessOutcome) {
        note(JudgedRead(reader, secret, decision), outcome)
    }

    /// Notes what became of a read; returns before it is written.
    func note(_ read: JudgedRead, _ outcome: AccessOutcome) {
        guard isNoting.load(ordering: .acquiring) else { return }
        let time = FileTime.now.seconds
        let isFirst = queue.withLock { queue in
            guard !queue.isClosed else { return false }
            let isKept = queue.options.isLogging || queue.options.notifiesFirstReads
            if let index = queue.events.indices.last,
                queue.events[index].isLike(read, outcome, isKept: isKept)
            {
                queue.events[index].count += 1
                queue.events[index].last = time
                return false
            }
            guard queue.events.count < mostWaiting else {
                guard isKept else { return false }
                queue.dropped[read.reader.title, default: (0, 0)].count += 1
                queue.dropped[read.reader.title]?.last = time
                return false
            }
            queue.events.append(Event(read, outcome, at: time, isKept: isKept))
            return queue.events.count == 1
        }
        guard isFirst else { return }
        queue.broadcast()
        startThread()
    }

    private func startThread() {
        let isNeeded = queue.withLock { queue in
            defer { queue.hasThread = true }
            return !queue.hasThread
        }
        guard isNeeded else { return }
        do throws(Errno) {
            try PosixThread.start(named: "access-log") { self.work() }
        } catch {
            // The next read tries again.
            queue.withLock { $0.hasThread = false }
        }
    }

    /// Returns when all that was noted so far is written, or waits as another program holds the file.
    func flush() { flush(seconds: 5) { _ in true } }

    /// Returns when all that was noted so far is written, also where another program holds the file for some seconds: what a
    /// command noted is lost when it ends.
    func flushOutlivingHolds() { flush(seconds: 30) { !$0.isHeld } }

    private func flush(seconds: Double, until isEnough: (Queue) -> Bool) {
        let goal: Int? = queue.withLock { queue in
            guard queue.hasThread, !queue.isClosed else { return nil }
            queue.isFlushing = true
            return queue.begun + 1
        }
        guard let goal else { return }
        queue.broadcast()
        let end = MonotonicTime(secondsFromNow: seconds)
        queue.waiting { queue, timeIsOver in
            queue.ended >= goal && isEnough(queue) || timeIsOver ? .done(()) : .wait(until: end)
        }
    }

    func close() {
        flushOutlivingHolds()
        queue.withLock { $0.isClosed = true }
        queue.broadcast()
    }

    private func work() {
        var waiting = WaitingLines(most: mostWaiting)
        var earliest = MonotonicTime.now
        while waitForWork(waiting) {
            gather(until: max(earliest, MonotonicTime(secondsFromNow: Self.gathering)))
            let (events, dropped, options, forgets) = queue.withLock { queue in
                defer {
                    (queue.events, queue.dropped, queue.forgets) = ([], [:], false)
                    queue.isFlushing = false
                    queue.begun += 1
                }
                return (queue.events, queue.dropped, queue.options, queue.forgets)
            }
            notices.tell(Self.lines(of: events).filter { !$0.outcome.isRead }, firsts: [])
            waiting.add(Self.lines(of: events.filter(\.isKept)))
            for (program, gone) in dropped { waiting.drop(gone.count, of: program, last: gone.last) }
            let isHeld = write(&waiting, options, forgets: forgets)
            earliest = MonotonicTime(secondsFromNow: Self.interval)
            queue.withLock {
                $0.ended += 1
                $0.isHeld = isHeld
            }
            queue.broadcast()
        }
        _ = write(&waiting, queue.withLock(\.options))
    }

    /// Returns false when the log is closed.
    private func waitForWork(_ waiting: WaitingLines) -> Bool {
        let end = waiting.isEmpty ? nil : MonotonicTime(secondsFromNow: Self.retry)
        return queue.waiting { queue, timeIsOver in
            if !queue.events.isEmpty || queue.isFlushing || queue.forgets { return .done(true) }
            if queue.isClosed { return .done(false) }
            return timeIsOver ? .done(true) : .wait(until: end)
        }
    }

    /// A program that reads one secret again and again is one line at once: what tells lines apart in the file is much more to
    /// compare.
    private static func lines(of events: [Event]) -> [AccessLine] {
        var (lines, known) = ([AccessLine](), [Alike: (line: Int, decision: Decision)]())
        for event in events {
            let alike = Alike(event)
            if let known = known[alike], known.decision == event.read.decision {
                lines[known.line].count += event.count
                lines[known.line].last = event.last
                continue
            }
            known[alike] = (lines.count, event.read.decision)
            var line = AccessLine(event.read, event.outcome, at: event.first)
            (line.count, line.last) = (event.count, event.last)
            lines.append(line)
        }
        return lines
    }

    private func gather(until end: MonotonicTime) {
        queue.waiting { queue, timeIsOver in
            queue.isFlushing || queue.isClosed || timeIsOver ? .done(()) : .wait(until: end)
        }
    }

    /// Returns whether another program holds the file.
    private func write(
        _ waiting: inout WaitingLines, _ options: AccessOptions, forgets: Bool = false
    ) -> Bool {
        guard !waiting.isEmpty || forgets else { return false }
        do {
            let database = try database()
            let firsts = options.notifiesFirstReads ? database.firstReads(in: waiting.lines) : []
            try database.add(waiting.lines, dropped: waiting.dropped, keeping: options.keep)
            waiting.clear()
            notices.tell([], firsts: firsts)
            return false
        } catch {
            // The next time another one is begun.
            if AccessDatabase.isDamage(error) {
                opened.withLock {
                    $0?.close()
                    $0 = nil
                    AccessDatabase.setAside(file)
                }
            }
            return AccessDatabase.isHeld(error)
        }
    }

    private func database() throws -> AccessDatabase {
        try opened.withLock { opened in
            if let known = opened {
                let isEmptied = known.isEmptied
                if known.isAtItsPlace, !isEmptied { return known }
                // First, as whoever closes a file last removes what lies beside it, by its name.
                known.close()
                opened = nil
                if isEmptied { AccessDatabase.setAside(file) }
                notices.tellThatTheFileIsGone(file)
            }
            let database = try AccessDatabase(file: file)
            opened = database
            return database
        }
    }

    /// Whether a program's file is another one than when it was last asked about; notes that it is now.
    func hasChanged(_ program: Program) -> Bool { (try? database().hasChanged(program)) ?? false }
}
