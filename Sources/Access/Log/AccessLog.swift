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
        /// How many are in the file, of all that came.
        var (written, added) = (0, 0)
        var isFlushing = false
        var isClosed = false
    }

    /// A read, as it happened.
    private struct Event {
        let reader: Reader
        let secret: String
        let decision: Decision
        let outcome: AccessOutcome
        let time: Int64
    }

    /// What all events have alike that make one line.
    private struct Alike: Hashable {
        let process: Int32
        let startTime: UInt64
        let program: Program?
        let secret: String
        let outcome: AccessOutcome

        init(_ event: Event) {
            (process, startTime) = (event.reader.process, event.reader.startTime)
            (program, secret, outcome) = (event.reader.program, event.secret, event.outcome)
        }
    }

    /// More than this waits for no disk: the memory is not the log's.
    private static let mostWaiting = 10_000
    /// How long reads gather, so that a program that reads much is written in few steps.
    private static let pause = Duration.milliseconds(100)

    private let queue = Monitor(Queue())
    private let isNoting = Atomic(false)
    private let file: FilePath
    private let notices: AccessNotices
    private let opened = Mutex<AccessDatabase?>(nil)

    init(file: FilePath, notify: @escaping @Sendable (_ title: String, _ body: String) -> Void) {
        self.file = file
        notices = AccessNotices(notify)
    }

    /// Notes by these options from now on.
    func use(_ options: AccessOptions) {
        queue.withLock { $0.options = options }
        isNoting.store(options.isWatching, ordering: .releasing)
    }

    /// Notes a read; returns before it is written.
    func note(_ reader: Reader, _ secret: String, _ decision: Decision, _ outcome: AccessOutcome) {
        guard isNoting.load(ordering: .acquiring) else { return }
        let time = FileTime.now.seconds
        let isFirst = queue.withLock { queue in
            guard queue.events.count < Self.mostWaiting, !queue.isClosed else { return false }
            queue.events.append(
                Event(reader: reader, secret: secret, decision: decision, outcome: outcome, time: time))
            queue.added += 1
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

    /// Returns when all that was noted so far is written.
    func flush() {
        let goal = queue.withLock { queue in
            queue.isFlushing = true
            return queue.added
        }
        queue.broadcast()
        queue.waiting { queue, timeIsOver in
            queue.written >= goal || !queue.hasThread || timeIsOver
                ? .done(()) : .wait(until: MonotonicTime(secondsFromNow: 5))
        }
    }

    func close() {
        flush()
        queue.withLock { $0.isClosed = true }
        queue.broadcast()
    }

    private func work() {
        while true {
            let goesOn = queue.waiting { queue, _ in
                queue.events.isEmpty ? queue.isClosed ? .done(false) : .wait(until: nil) : .done(true)
            }
            guard goesOn else { return }
            gather()
            let (events, options) = queue.withLock { queue in
                defer {
                    queue.events = []
                    queue.isFlushing = false
                }
                return (queue.events, queue.options)
            }
            let lines = Self.lines(of: events)
            notices.tell(lines.filter { !$0.outcome.isRead }, firsts: [])
            write(lines, options)
            queue.withLock { $0.written += events.count }
            queue.broadcast()
        }
    }

    /// A program that reads one secret again and again is one line at once: what tells lines apart in the file is much more to
    /// compare.
    private static func lines(of events: [Event]) -> [AccessLine] {
        var (lines, known) = ([AccessLine](), [Alike: (line: Int, decision: Decision)]())
        for event in events {
            let alike = Alike(event)
            if let known = known[alike], known.decision == event.decision {
                lines[known.line].count += 1
                lines[known.line].last = event.time
                continue
            }
            known[alike] = (lines.count, event.decision)
            lines.append(
                AccessLine(event.reader, event.secret, event.decision, event.outcome, at: event.time))
        }
        return lines
    }

    private func gather() {
        let end = MonotonicTime(secondsFromNow: Self.pause / .seconds(1))
        queue.waiting { queue, timeIsOver in
            queue.isFlushing || queue.isClosed || timeIsOver ? .done(()) : .wait(until: end)
        }
    }

    private func write(_ lines: [AccessLine], _ options: AccessOptions) {
        guard options.isLogging || options.notifiesFirstReads, let database = database() else { return }
        let firsts = options.notifiesFirstReads ? database.firstReads(in: lines) : []
        database.add(lines, keeping: options.keep)
        notices.tell([], firsts: firsts)
    }

    private func database() -> AccessDatabase? {
        opened.withLock { opened in
            if opened == nil { opened = try? AccessDatabase(file: file) }
            return opened
        }
    }

    /// Whether a program's file is another one than when it was last asked about; notes that it is now.
    func hasChanged(_ program: Program) -> Bool { database()?.hasChanged(program) ?? false }
}
