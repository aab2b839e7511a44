import Synchronization
public import SystemPackage

/// What an operation answers that may have to wait for something slow, such as a person.
public enum Reply<Value: Sendable>: Sendable {
    /// The answer.
    case now(Value)
    /// The answer is still to come. Until then the request holds no thread.
    case later(PendingReply<Value>)

    /// Has `body` run with the answer, once: at once where it is there, else on the thread that gives it.
    public func whenGiven(_ body: @escaping @Sendable (Result<Value, Errno>) -> Void) {
        switch self {
        case .now(let value): body(.success(value))
        case .later(let pending): pending.whenGiven(body)
        }
    }

    /// A reply that gives what `transform` makes of this one's result.
    public func map<Other>(
        _ transform: @escaping @Sendable (Result<Value, Errno>) -> Result<Other, Errno>
    ) throws(Errno) -> Reply<Other> {
        switch self {
        case .now(let value): return .now(try transform(.success(value)).get())
        case .later(let pending):
            let other = PendingReply<Other>()
            pending.whenGiven { other.give(transform($0)) }
            return .later(other)
        }
    }
}

/// An answer that is given later, once, from any thread.
public final class PendingReply<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(@Sendable (Result<Value, Errno>) -> Void)
        case given(Result<Value, Errno>)
        case delivered
    }

    private let state = Mutex(State.open)

    /// An answer that nobody has given yet.
    public init() {}

    /// Answers the request, exactly once, with a value or the error that its caller gets.
    public func give(_ result: Result<Value, Errno>) {
        let body: (@Sendable (Result<Value, Errno>) -> Void)? = state.withLock { state in
            switch state {
            case .open:
                state = .given(result)
                return nil
            case .awaited(let body):
                state = .delivered
                return body
            case .given, .delivered: preconditionFailure("a request is answered exactly once")
            }
        }
        body?(result)
    }

    /// Has `body` run with the answer, on the thread that gives it or, when it is there already, at once; once.
    public func whenGiven(_ body: @escaping @Sendable (Result<Value, Errno>) -> Void) {
        let result: Result<Value, Errno>? = state.withLock { state in
            switch state {
            case .open:
                state = .awaited(body)
                return nil
            case .given(let result):
                state = .delivered
                return result
            case .awaited, .delivered: preconditionFailure("an answer is delivered exactly once")
            }
        }
        if let result { body(result) }
    }
}
