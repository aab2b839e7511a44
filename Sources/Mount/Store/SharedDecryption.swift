import Dispatch
import Fuse
import OpenPGP
import Stores
import Synchronization
import SystemPackage

/// One decryption, or one question to a person before it, that any number of opens wait for, none of them on a thread: each leaves behind what is to be done
/// when the wait is over. When the last of them gives up, it is cancelled; also when that is the one in whose terminal a passphrase is
/// asked for, so that the prompt goes away with it: the others begin another one.
final class SharedDecryption: Sendable {
    /// How a wait ended.
    enum Ending: Sendable {
        case decrypted
        case failed(StoreError)
        /// A signal ended the wait of this one; see `InterruptedWait`.
        case interrupted
    }

    private struct State {
        var outcome: Ending?
        var waiters: [Int: @Sendable (Ending) -> Void] = [:]
        var nextWaiter = 0
        /// In whose terminal a passphrase is asked for.
        var asked: Int?
    }

    /// Looks at callers that were interrupted and wait on, which is short.
    private static let looks = DispatchQueue(label: "passdir.interrupted")

    /// Ends the decryption when nobody waits any more.
    let cancellation = Cancellation()
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    /// Ends the waits of all. Only the first outcome counts.
    func finish(_ outcome: Result<Void, StoreError>) {
        let ending: Ending =
            switch outcome {
            case .success: .decrypted
            case .failure(let error): .failed(error)
            }
        let waiters = state.withLock { state in
            guard state.outcome == nil else { return [Int: @Sendable (Ending) -> Void]() }
            state.outcome = ending
            defer { state.waiters = [:] }
            return state.waiters
        }
        for (_, body) in waiters.sorted(by: { $0.key < $1.key }) { body(ending) }
    }

    /// Has `body` run, once, when the decryption has ended, or when a signal ends the wait of `caller`: on the thread on
    /// which that happens, or at once.
    /// - Parameter isAsked: a passphrase is asked for where the caller sits.
    func wait(_ caller: Caller?, isAsked: Bool = false, _ body: @escaping @Sendable (Ending) -> Void) {
        let (outcome, waiter) = state.withLock { state in
            if state.outcome == nil {
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = body
                if isAsked { state.asked = state.nextWaiter }
            }
            return (state.outcome, state.nextWaiter)
        }
        if let outcome { return body(outcome) }
        caller?.onInterrupt { self.look(InterruptedWait(of: caller, since: self.start), of: waiter) }
    }

    /// Looks whether a signal ends a wait, and looks again later when it does not.
    private func look(_ wait: InterruptedWait, of waiter: Int) {
        var wait = wait
        guard state.withLock({ $0.waiters[waiter] != nil }) else { return }
        if wait.isOver() { return giveUp(waiter) }
        let next = wait
        Self.looks.asyncAfter(deadline: .now() + next.pause) { self.look(next, of: waiter) }
    }

    private func giveUp(_ waiter: Int) {
        let (body, isAbandoned) = state.withLock { state in
            let body = state.waiters.removeValue(forKey: waiter)
            return (body, state.outcome == nil && (state.waiters.isEmpty || state.asked == waiter))
        }
        guard let body else { return }
        if isAbandoned { cancellation.cancel() }
        body(.interrupted)
    }

    /// Ends it with a failure, whatever comes of it.
    func end(_ error: StoreError) {
        finish(.failure(error))
        cancellation.cancel()
    }

    /// Whether it was given up: because nobody waited any more, or not the one who was asked.
    var isAbandoned: Bool { cancellation.isCancelled }
}
