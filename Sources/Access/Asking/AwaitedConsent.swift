import Synchronization

/// A read that waits for a person's answer, on no thread.
public final class AwaitedConsent: Sendable {
    private enum State {
        case open
        case awaited(@Sendable (Bool) -> Void)
        case answered(Bool)
        case over
    }

    private let state = Mutex(State.open)
    private let withdrawn: @Sendable () -> Void

    /// - Parameter withdrawn: runs when the reader waits no longer.
    init(withdrawn: @escaping @Sendable () -> Void) { self.withdrawn = withdrawn }

    /// Has `body` run with the answer, once: on the thread that has it, or at once when it is there already; not at all once
    /// the read was withdrawn.
    public func whenAnswered(_ body: @escaping @Sendable (_ isAllowed: Bool) -> Void) {
        let answer: Bool? = state.withLock { state in
            switch state {
            case .open:
                state = .awaited(body)
                return nil
            case .answered(let answer):
                state = .over
                return answer
            case .awaited, .over: return nil
            }
        }
        if let answer { body(answer) }
    }

    /// The reader waits no longer: a question that nobody waits for any more ends.
    /// - Returns: false where the answer has come already.
    @discardableResult
    public func withdraw() -> Bool {
        let isWaiting = state.withLock { state in
            switch state {
            case .open, .awaited:
                state = .over
                return true
            case .answered, .over: return false
            }
        }
        if isWaiting { withdrawn() }
        return isWaiting
    }

    /// Whether the answer is still to come, and somebody waits for it.
    public var isAwaited: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: true
            case .answered, .over: false
            }
        }
    }

    /// The answer, where it has come already: then nobody need wait for it.
    func takeAnswer() -> Bool? {
        state.withLock { state in
            guard case .answered(let answer) = state else { return nil }
            state = .over
            return answer
        }
    }

    /// The answer has come.
    func give(_ isAllowed: Bool) {
        let body: (@Sendable (Bool) -> Void)? = state.withLock { state in
            switch state {
            case .open: state = .answered(isAllowed)
            case .awaited(let body):
                state = .over
                return body
            case .answered, .over: break
            }
            return nil
        }
        body?(isAllowed)
    }
}
