public import System

/// The right to raise a counter in a secret: one has it at a time, here and in commands. It ends with its last reference.
public final class CountingTurn: Sendable {
    private let lock: OwnedDescriptor?

    /// - Parameter lock: a file that is locked; nil where nobody else counts.
    public init(holding lock: consuming OwnedDescriptor?) { self.lock = lock }
}
