import Synchronization
public import System
public import SystemPackage

/// Turns to raise the counters of secrets. A secret's turn is had by one at a time, here and, where there is a lock, in other
/// processes.
///
/// Who waits holds no thread but that of the secret, and nothing but the raising and saving is done in a turn: no passphrase
/// is waited for in it.
public final class CountingTurns: Sendable {
    /// As many secrets as may be counted at once, each of which takes a thread.
    static let mostSecrets = 64
    /// As many as may wait for the turn of one secret.
    static let mostWaiting = 1024

    /// Waits until nobody else has the turn of a secret, which is named as the store's name and the path on disk.
    public typealias Lock = @Sendable (_ secret: String) throws(Errno) -> OwnedDescriptor?

    private let lock: Lock
    private let waiting = Mutex<[String: [AwaitedTurn]]>([:])

    /// - Parameter lock: keeps other processes out for as long as what it returns is open.
    public init(_ lock: @escaping Lock = { _ in nil }) { self.lock = lock }

    /// Has `work` run when it is the turn's time, on the thread of the secret; with an error where there can be no turn.
    /// - Returns: the turn, to be withdrawn by who does not want it any more.
    @discardableResult
    func take(_ secret: String, _ work: @escaping @Sendable (_ failure: Errno?) -> Void) -> AwaitedTurn {
        let turn = AwaitedTurn(work)
        let isFirst: Bool? = waiting.withLock { waiting in
            guard let queue = waiting[secret] else {
                guard waiting.count < Self.mostSecrets else { return nil }
                waiting[secret] = [turn]
                return true
            }
            guard queue.count < Self.mostWaiting else { return nil }
            waiting[secret, default: []].append(turn)
            return false
        }
        guard let isFirst else {
            turn.begin(.resourceTemporarilyUnavailable)
            return turn
        }
        if isFirst { PosixThread.startWhenPossible(named: "counting") { self.serve(secret) } }
        return turn
    }

    /// Those who wait, one after another. Between two of them the turn is free for other processes.
    private func serve(_ secret: String) {
        while hasNext(secret) {
            do throws(Errno) {
                let held = try lock(secret)
                // Whoever is first now: some may have gone while this waited.
                next(secret)?.begin(nil)
                _ = consume held
            } catch {
                next(secret)?.begin(error)
            }
        }
    }

    /// Whether anybody waits. If not, the next to come has a thread started.
    private func hasNext(_ secret: String) -> Bool {
        waiting.withLock { waiting in
            waiting[secret]?.removeAll { !$0.isAwaited }
            guard waiting[secret]?.isEmpty != false else { return true }
            waiting[secret] = nil
            return false
        }
    }

    private func next(_ secret: String) -> AwaitedTurn? {
        waiting.withLock { waiting in
            waiting[secret]?.removeAll { !$0.isAwaited }
            guard let first = waiting[secret]?.first else { return nil }
            waiting[secret]?.removeFirst()
            return first
        }
    }
}

/// A turn that somebody waits for.
final class AwaitedTurn: Sendable {
    private let work: Mutex<(@Sendable (Errno?) -> Void)?>

    init(_ work: @escaping @Sendable (Errno?) -> Void) { self.work = Mutex(work) }

    /// Whether it has neither begun nor been withdrawn.
    var isAwaited: Bool { work.withLock { $0 != nil } }

    /// Gives it up.
    /// - Returns: false where it has begun already, or was given up.
    func withdraw() -> Bool { taken() != nil }

    fileprivate func begin(_ failure: Errno?) { taken()?(failure) }

    private func taken() -> (@Sendable (Errno?) -> Void)? {
        work.withLock { work in
            defer { work = nil }
            return work
        }
    }
}
