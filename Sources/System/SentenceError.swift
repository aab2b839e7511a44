/// An error that people are told as it is: its `description` is one sentence.
public protocol SentenceError: Error, Sendable, CustomStringConvertible {
    /// The sentence, without what `description` may add to it: a file and a line.
    var message: String { get }
}

extension SentenceError {
    /// The sentence.
    public var description: String { message }
}

/// A sentence that can stand for other errors, where a part has one error for all that goes wrong below it.
public protocol WrappingError: SentenceError {
    /// What people are told of an error of another part.
    init(wrapping cause: any Error)
}

extension WrappingError {
    /// What `body` returns; whatever it throws becomes an error of this type.
    public static func wrapping<Value>(_ body: () throws -> Value) throws(Self) -> Value {
        do {
            return try body()
        } catch let error as Self {
            throw error
        } catch {
            throw Self(wrapping: error)
        }
    }
}
