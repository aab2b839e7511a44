/// A place in a template where a value is to stand.
public struct TemplateReference: Sendable, Hashable {
    /// What of a secret is meant.
    public enum Part: Sendable, Hashable {
        /// All of it: no mark behind the path.
        case whole
        /// Its first line: `#first`.
        case first
        /// The value of a field: `#NAME`. A field that is itself named `first` is had by `#First`.
        case field(String)
        /// A one-time code of this moment: `?otp`.
        case oneTimeCode
    }

    /// Which value is meant, wherever it is wanted.
    public struct Target: Sendable, Hashable {
        /// The name of the store.
        public let store: String
        /// The name of the secret in the store, with `/` between folders.
        public let path: String
        /// What of the secret is meant.
        public let part: Part
    }

    /// Which value is meant.
    public let target: Target
    /// The reference as it is written, for people.
    public let text: String
    /// Where it stands, in bytes from the start of the template.
    public let range: Range<Int>
    /// The line that it begins in, from 1.
    public let line: Int

    /// How a sentence names it: as it is written, and its line.
    public var place: String { "\(text) in line \(line)" }
}
