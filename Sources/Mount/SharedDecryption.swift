import Dispatch
import Fuse
import OpenPGP
import Stores
import Synchronization
import SystemPackage

/// One decryption that any number of opens wait for. When the last of them gives up, it is cancelled.
final class SharedDecryption: Sendable {
    private struct State {
        var outcome: Result<Void, StoreError>?
        var waiters = 0
        var wakeUps: [ObjectIdentifier: DispatchSemaphore] = [:]
    }

    /// Ends the decryption when nobody waits any more.
    let cancellation = Cancellation()
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    /// Tells everybody who waits.
    func finish(_ outcome: Result<Void, StoreError>) {
        let wakeUps = state.withLock { state in
            state.outcome = outcome
            return state.wakeUps.values.map(\.self)
        }
        for wakeUp in wakeUps { wakeUp.signal() }
    }

    /// Waits for the end, or for a signal that ends the wait of `request`, which throws `EINTR`; see
    /// `InterruptedWait`.
    func wait(_ request: Request?) throws(Errno) -> Result<Void, StoreError> {
        let wakeUp = DispatchSemaphore(value: 0)
        let finished = state.withLock { state in
            if state.outcome == nil {
                state.waiters += 1
                state.wakeUps[ObjectIdentifier(wakeUp)] = wakeUp
            }
            return state.outcome
        }
        if let finished { return finished }
        request?.onInterrupt { wakeUp.signal() }
        var interrupted = InterruptedWait(of: request, since: start)
        repeat {
            Self.wait(wakeUp, until: interrupted.nextLook)
        } while state.withLock({ $0.outcome == nil }) && !interrupted.isOver()
        let (outcome, isAbandoned) = state.withLock { state in
            state.waiters -= 1
            state.wakeUps[ObjectIdentifier(wakeUp)] = nil
            return (state.outcome, state.waiters == 0 && state.outcome == nil)
        }
        if let outcome { return outcome }
        if isAbandoned { cancellation.cancel() }
        throw .interrupted
    }

    private static func wait(_ wakeUp: DispatchSemaphore, until instant: ContinuousClock.Instant?) {
        guard let instant else { return wakeUp.wait() }
        let (seconds, attoseconds) = (instant - .now).components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        _ = wakeUp.wait(timeout: .now() + .nanoseconds(max(nanoseconds, 0)))
    }

    /// Whether it was given up because nobody waited any more.
    var isAbandoned: Bool { cancellation.isCancelled }
}
