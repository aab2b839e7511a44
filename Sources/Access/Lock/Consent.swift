/// Asks a person whether a store that is locked may be read again.
public protocol Consent: Sendable {
    /// Asks one question, whose answer unlocks the store or lets the program's open fail.
    /// - Parameter answer: called once, from any thread, at once or later; also when the question is ended, as soon as nothing of
    ///   it is shown any more.
    /// - Returns: ends the question, as nobody waits for its answer any more. It may be called from any thread, also when the
    ///   question has been answered.
    func askToUnlock(
        _ question: UnlockQuestion, answer: @escaping @Sendable (UnlockAnswer) -> Void
    ) -> @Sendable () -> Void
}

/// Who wants to read what of a locked store. Others may wait for the same answer.
public struct UnlockQuestion: Sendable, Equatable {
    /// The store's name.
    public var store: String
    /// The secret, as the mount shows it, relative to the store.
    public var path: String
    /// The thread that opens it, as the kernel names it; 0 where that is not known.
    public var caller: Int32

    /// A question by its parts.
    public init(store: String, path: String, caller: Int32) {
        self.store = store
        self.path = path
        self.caller = caller
    }
}

/// What a person said, or the want of one.
public enum UnlockAnswer: Sendable, Equatable {
    case granted
    case refused
}

/// Asks nobody, and refuses.
public struct NoConsent: Consent {
    /// It has no parts.
    public init() {}

    /// As the protocol says; refuses at once.
    public func askToUnlock(
        _ question: UnlockQuestion, answer: @escaping @Sendable (UnlockAnswer) -> Void
    ) -> @Sendable () -> Void {
        answer(.refused)
        return {}
    }
}
