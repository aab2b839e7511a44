import OpenPGP
import Stores
import System

/// Bounds how often a person is asked for a passphrase or a card, by several threads that read: one question at a time, and
/// whoever needs the same key waits for its answer.
final class PromptBudget: Sendable {
    private struct State {
        var left: Int
        var isAsking = false
    }

    private let limit: Int
    private let state: Monitor<State>

    init(_ limit: Int) {
        self.limit = limit
        state = Monitor(State(left: limit))
    }

    /// What an attempt to read gives, that may ask only where it must.
    /// - Throws: what the last attempt throws, and where nobody may be asked any more.
    func read<Value>(
        _ attempt: (_ mayAsk: Bool) throws(StoreError) -> Value
    ) throws(DaemonError) -> Value {
        // gpg-agent answers nobody about a key while it asks for it.
        state.waiting { (state, _) -> Monitor<State>.Step<Void> in
            state.isAsking ? .wait(until: nil) : .done(())
        }
        if let value = try withoutAsking(attempt) { return value }
        state.waiting { (state, _) -> Monitor<State>.Step<Void> in
            guard !state.isAsking else { return .wait(until: nil) }
            state.isAsking = true
            return .done(())
        }
        defer {
            state.withLock { $0.isAsking = false }
            state.broadcast()
        }
        if let value = try withoutAsking(attempt) { return value }
        let mayAsk = state.withLock { state in
            state.left -= 1
            return state.left >= 0
        }
        guard mayAsk else {
            throw DaemonError(
                message: limit == 0
                    ? "a passphrase or card is needed for it, and --limit is 0"
                    : "a passphrase or card is needed for it, and that was asked for as often as --limit says"
            )
        }
        return try DaemonError.wrapping { try attempt(true) }
    }

    /// Nil where a person would have to be asked.
    private func withoutAsking<Value>(
        _ attempt: (_ mayAsk: Bool) throws(StoreError) -> Value
    ) throws(DaemonError) -> Value? {
        do throws(StoreError) {
            return try attempt(false)
        } catch {
            guard [.openPGP(.noPinentry), .openPGP(.timedOut)].contains(error.code) else {
                throw DaemonError(message: error.message)
            }
            return nil
        }
    }
}
