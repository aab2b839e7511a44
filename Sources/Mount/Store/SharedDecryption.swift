import Dispatch
import Fuse
import OpenPGP
import Stores
import Synchronization
import SystemPackage

/// One decryption, or one question to a person before it, that any number of opens wait for, none of them on a thread: each leaves behind what is to be done
/// when the wait is over. When the last of them gives up, it is cancelled; also when that is the one in whose terminal a passphrase is
/// asked for, so that the prompt goes away with it: the others begin another one.
///
/// Whoever is answered because it was ended hears so when the prompt is gone: a program that goes on before that finds a terminal that
/// pinentry has not given back yet.
final class SharedDecryption: Sendable {
    /// How a wait ended.
    enum Ending: Sendable {
        case decrypted
        case failed(StoreError)
        /// A signal ended the wait of this one; see `InterruptedWait`.
        case interrupted
    }

    private typealias Body = @Sendable (Ending) -> Void

    private struct State {
        var outcome: Ending?
        var waiters: [Int: Body] = [:]
        var nextWaiter = 0
        /// In whose terminal a person is asked.
        var asked: Int?
        /// Those who gave up, and are told so when the prompt is gone.
        var leaving: [Body] = []
        /// How it is to end, whatever comes of it.
        var verdict: Result<Void, StoreError>?
    }

    /// Looks at callers that were interrupted and wait on, which is short.
    private static let looks = DispatchQueue(label: "passdir.interrupted")

    /// Ends the decryption when nobody waits any more.
    let cancellation = Cancellation()
    /// The file as it was when this began; nil where it is of none.
    let ciphertext: FileStatus?
    private let state = Mutex(State())
    private let start = ContinuousClock.now
    /// Whether it may open a prompt, and finishes when that is gone.
    private let mayPrompt: Bool

    /// The longest that a prompt which is being closed is waited for, in seconds.
    private static let patience = 2.0

    /// - Parameter mayPrompt: what is begun finishes by itself soon after it was cancelled.
    init(of ciphertext: FileStatus? = nil, mayPrompt: Bool = false) {
        self.ciphertext = ciphertext
        self.mayPrompt = mayPrompt
    }

    /// Ends the waits of all. Only the first outcome counts.
    func finish(_ outcome: Result<Void, StoreError>) {
        let (ending, waiters, leaving) = state.withLock { state -> (Ending, [Int: Body], [Body]) in
            guard state.outcome == nil else {
                return (.decrypted, [:], [])
            }
            let ending: Ending =
                switch state.verdict ?? outcome {
                case .failure(let error): .failed(error)
                case .success: .decrypted
                }
            state.outcome = ending
            defer { (state.waiters, state.leaving) = ([:], []) }
            return (ending, state.waiters, state.leaving)
        }
        for body in leaving { body(.interrupted) }
        for (_, body) in waiters.sorted(by: { $0.key < $1.key }) { body(ending) }
    }

    /// Has `body` run, once, when the decryption has ended, or when a signal ends the wait of `caller`: on the thread on
    /// which that happens, or at once.
    /// - Parameter isAsked: a person is asked where the caller sits.
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
        let (body, isAbandoned) = state.withLock { state -> (Body?, Bool) in
            let body = state.waiters.removeValue(forKey: waiter)
            let isAbandoned = state.outcome == nil && (state.waiters.isEmpty || state.asked == waiter)
            if let body, isAbandoned, mayPrompt {
                state.leaving.append(body)
                return (nil, true)
            }
            return (body, body != nil && isAbandoned)
        }
        if isAbandoned { cancel() }
        body?(.interrupted)
    }

    /// Ends it in this way, whatever comes of it.
    func end(_ verdict: Result<Void, StoreError>) {
        state.withLock { $0.verdict = $0.verdict ?? verdict }
        if !mayPrompt { finish(verdict) }
        cancel()
    }

    private func cancel() {
        cancellation.cancel()
        guard mayPrompt else { return }
        Self.looks.asyncAfter(deadline: .now() + Self.patience) {
            self.finish(.failure(StoreError(.openPGP(.canceled), "the wait was given up.")))
        }
    }

    /// Whether it was given up: because nobody waited any more, or not the one who was asked.
    var isAbandoned: Bool { cancellation.isCancelled && state.withLock { $0.verdict == nil } }
}
