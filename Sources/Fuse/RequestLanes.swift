import Glibc
import Synchronization

/// What requests may have to wait for together, such as the disk of a store: they share a bounded number of threads, so that
/// those who wait for one such thing take none from those who need another.
public struct RequestLane: Sendable, Hashable {
    private let owner: ObjectIdentifier

    /// The lane of what answers the requests.
    public init(_ owner: AnyObject) { self.owner = ObjectIdentifier(owner) }
}

/// Gives the requests of each lane their turns. Beyond so many at once they wait in order, and hold no thread meanwhile.
///
/// Two sorts have turns of their own: programs that only look at names must not wait for all those that read and save.
final class RequestLanes: Sendable {
    /// What a request does.
    enum Sort: Hashable {
        /// Finds or lists names, or tells of a file.
        case look
        /// All else that may wait.
        case work

        /// So many can run at once. More threads than that would only take the processors from each other, and from the
        /// other lanes: who opens a secret of a store while hundreds do in another is held up by all that run. Work may wait
        /// for the disk, so it has some more.
        var limit: Int { (self == .look ? 2 : 8) * Self.processors }

        private static let processors = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    private struct Key: Hashable {
        var lane: RequestLane
        var sort: Sort
    }

    private struct Line {
        var running = 0
        var waiting: [WorkerPool.Job?] = []
        var next = 0

        var isIdle: Bool { running == 0 && waiting.isEmpty }

        mutating func takeJob() -> WorkerPool.Job? {
            guard next < waiting.count else { return nil }
            let job = waiting[next]
            waiting[next] = nil
            next += 1
            if next == waiting.count { (waiting, next) = ([], 0) }
            return job
        }
    }

    private let workers: WorkerPool
    /// A lane without a request has no line.
    private let lines = Mutex<[Key: Line]>([:])

    /// - Parameter workers: run what has its turn.
    init(workers: WorkerPool) {
        self.workers = workers
    }

    /// How many requests of a lane wait for their turn.
    func waitingCount(_ lane: RequestLane, _ sort: Sort) -> Int {
        lines.withLock { lines in lines[Key(lane: lane, sort: sort)].map { $0.waiting.count - $0.next } ?? 0 }
    }

    /// Runs `body` here where nobody else has a turn of the lane: most looks come one after the other, and take less time than
    /// it takes to wake another thread.
    /// - Returns: nil, with nothing done, where somebody has one.
    func alone<Value>(_ lane: RequestLane, _ sort: Sort, _ body: () -> Value) -> Value? {
        let key = Key(lane: lane, sort: sort)
        let isAlone = lines.withLock { lines in
            guard lines[key]?.isIdle ?? true else { return false }
            lines[key] = Line(running: 1)
            return true
        }
        guard isAlone else { return nil }
        defer { if let next = end(key) { workers.submit { self.run(next, key) } } }
        return body()
    }

    /// Has a job run on a worker when it is its turn.
    func submit(_ lane: RequestLane, _ sort: Sort, _ job: @escaping WorkerPool.Job) {
        let key = Key(lane: lane, sort: sort)
        let hasTurn = lines.withLock { lines in
            guard lines[key, default: Line()].running < sort.limit else {
                lines[key]?.waiting.append(job)
                return false
            }
            lines[key, default: Line()].running += 1
            return true
        }
        if hasTurn { workers.submit { self.run(job, key) } }
    }

    /// One after the other on the same worker: a job that waits has one before it, so that a pool which has run all its jobs
    /// has run these, too.
    private func run(_ first: WorkerPool.Job, _ key: Key) {
        first()
        while let next = end(key) { next() }
    }

    /// A turn ends, and goes to who has waited longest.
    private func end(_ key: Key) -> WorkerPool.Job? {
        lines.withLock { lines in
            guard var line = lines[key] else { return nil }
            let next = line.takeJob()
            if next == nil { line.running -= 1 }
            lines[key] = line.isIdle ? nil : line
            return next
        }
    }
}
