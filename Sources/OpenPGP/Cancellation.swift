import Synchronization

/// Something that any thread can cancel, once; what was registered then runs, once, on that thread.
public final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var nextToken = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }
    private let state = Mutex(State())

    /// Not cancelled yet.
    public init() {}

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels. Only the first call does something.
    public func cancel() {
        let handlers = state.withLock { state in
            state.isCancelled = true
            defer { state.handlers = [:] }
            return state.handlers
        }
        for token in handlers.keys.sorted() { handlers[token]?() }
    }

    /// Has `body` run when this is cancelled; at once when it already was.
    public func whenCancelled(_ body: @escaping @Sendable () -> Void) { _ = register(body) }

    /// Has `body` run when this is cancelled; at once when it already was. The token takes the registration back. A body
    /// that is running already is not waited for.
    func register(_ body: @escaping @Sendable () -> Void) -> Int? {
        let token: Int? = state.withLock { state in
            guard !state.isCancelled else { return nil }
            state.nextToken += 1
            state.handlers[state.nextToken] = body
            return state.nextToken
        }
        if token == nil { body() }
        return token
    }

    /// Forgets a registration.
    func unregister(_ token: Int?) {
        guard let token else { return }
        state.withLock { _ = $0.handlers.removeValue(forKey: token) }
    }
}
