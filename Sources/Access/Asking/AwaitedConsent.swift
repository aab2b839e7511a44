import Glibc
import Synchronization
import System
import SystemPackage

/// A read that waits for a person's answer, on no thread.
public final class AwaitedConsent: Sendable {
    private enum State {
        case open
        case awaited(@Sendable (Bool) -> Void)
        case answered(Bool)
        case over
    }

    private let state = Mutex(State.open)
    private let withdrawn: @Sendable (_ whenGone: @escaping @Sendable () -> Void) -> Void

    /// - Parameter withdrawn: runs when the reader waits no longer; has its closure run when nothing is shown to it any more.
    init(withdrawn: @escaping @Sendable (_ whenGone: @escaping @Sendable () -> Void) -> Void) {
        self.withdrawn = withdrawn
    }

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

    /// The reader waits no longer: a question that is shown to it ends.
    /// - Parameter whenGone: runs once, on some thread, when the reader may go on, as the terminal is given back; not where the
    ///   answer has come already.
    public func withdraw(whenGone: @escaping @Sendable () -> Void = {}) {
        let isWaiting = state.withLock { state in
            switch state {
            case .open, .awaited:
                state = .over
                return true
            case .answered, .over: return false
            }
        }
        if isWaiting { withdrawn(whenGone) }
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

/// An answer that a thread waits for at a descriptor.
final class ReadableAnswer: Sendable {
    private let pipe: Pipe
    private let isAllowed = Mutex(false)

    init() throws(Errno) { pipe = try Pipe() }

    /// Can be read once the answer is there.
    var descriptor: CInt { pipe.reading.raw }

    func give(_ isAllowed: Bool) {
        self.isAllowed.withLock { $0 = isAllowed }
        var byte: UInt8 = 0
        _ = write(pipe.writing.raw, &byte, 1)
    }

    func wait() -> Bool {
        _ = try? Poll.wait(for: POLLIN, on: descriptor, until: nil)
        return isAllowed.withLock(\.self)
    }
}
