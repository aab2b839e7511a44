import Glibc
public import System

/// Makes passwords out of random bytes, every possible one as likely as every other.
public struct PasswordGenerator: Sendable {
    /// A password that was made.
    public struct Password: Sendable {
        /// Its characters, without a line break.
        public let text: SecretBytes
        /// Its entropy in bits: the logarithm of how many passwords could have come out.
        public let bits: Double
    }

    /// How long `pass generate` makes a password.
    public static let standardLength = 25
    /// The longest password, in characters or words.
    public static let lengthLimit = 4096

    private let source: any RandomSource

    /// - Parameter source: where the randomness comes from: the kernel.
    public init(source: any RandomSource = KernelRandomSource()) { self.source = source }

    /// A password of characters.
    /// - Throws: `.invalid` for a length that is not 1 to `lengthLimit`; `.system` without memory or randomness.
    public func characters(
        _ length: Int = standardLength, from set: PasswordCharacters = .all
    ) throws(ContentsError) -> Password {
        try check(length, "characters")
        var numbers = UniformNumbers(source)
        var output = SecretOutput()
        for _ in 0..<length { try output.append(set.characters[numbers.next(below: set.count)]) }
        return Password(text: output.finish(), bits: Double(length) * log2(Double(set.count)))
    }

    /// A password of words.
    ///
    /// A few words of the EFF's list hold a hyphen, but no two words with a hyphen between them are another one, so that two choices
    /// never look alike with the standard separator. With an empty one they can, and the entropy is a little less than told.
    /// - Throws: `.invalid` for a count that is not 1 to `lengthLimit`, or a separator with a line break or a NUL; `.system`
    ///   without memory or randomness.
    public func words(
        _ count: Int, from list: WordList = .eff, separator: String = "-"
    ) throws(ContentsError) -> Password {
        try check(count, "words")
        guard !separator.utf8.contains(where: { $0 == 0x0a || $0 == 0x0d || $0 == 0 }) else {
            throw ContentsError(.invalid, "a separator cannot hold a line break or a NUL")
        }
        var numbers = UniformNumbers(source)
        var output = SecretOutput()
        for index in 0..<count {
            if index > 0 { try output.append(separator) }
            try output.append(list.word(numbers.next(below: list.count)))
        }
        return Password(text: output.finish(), bits: Double(count) * log2(Double(list.count)))
    }

    private func check(_ length: Int, _ what: StaticString) throws(ContentsError) {
        guard (1...Self.lengthLimit).contains(length) else {
            throw ContentsError(.invalid, "a password has 1 to \(Self.lengthLimit) \(what)")
        }
    }
}
