import Glibc
import System
import SystemPackage

/// How many guesses a password stands, by an estimate in the manner of zxcvbn (Wheeler, "zxcvbn: Low-Budget Password Strength
/// Estimation", USENIX Security 2016).
///
/// Whoever guesses is taken to know how people choose: common passwords and words, also backwards, with capitals and with digits
/// and signs for letters; sequences and repetitions; walks over a keyboard of the United States; dates. The password is cut into
/// such parts and into characters tried one by one, in the way that takes the fewest guesses.
///
/// An estimate says that a password is weak, never that it is strong: it knows neither the owner nor where else it is used.
public struct Strength: Sendable, Equatable {
    /// So many bytes count; what comes after them is not looked at.
    public static let lengthLimit = 128

    /// The decimal logarithm of the guesses. 0 for the empty password.
    public let magnitude: Double

    /// The binary logarithm of the guesses.
    public var bits: Double { magnitude * log2(10) }

    /// How strong it is, as zxcvbn counts: 0 below a thousand guesses, 1 below a million, 2 below a hundred million, 3 below ten
    /// billion, and 4.
    public var score: Int { [3, 6, 8, 10].count { magnitude >= $0 } }

    /// Estimates a password. It is looked at where it lies; copies of it in lower case are in secret memory, until the call ends.
    /// - Throws: `.system` without memory.
    public init(of password: UnsafeRawBufferPointer) throws(ContentsError) {
        let counted = password.part(0..<min(password.count, Self.lengthLimit))
        magnitude = try Self.magnitude(of: counted)
    }

    /// The estimate of a part, which repetitions ask for anew.
    static func magnitude(of bytes: UnsafeRawBufferPointer) throws(ContentsError) -> Double {
        guard !bytes.isEmpty else { return 0 }
        let parts =
            try DictionaryParts.all(of: bytes) + SequenceParts.all(of: bytes) + KeyboardParts.all(of: bytes)
            + DateParts.all(of: bytes) + RepeatedParts.all(of: bytes)
        return GuessPlan(parts, length: bytes.count).magnitude
    }
}

/// A part of a password that can be guessed as a whole.
struct GuessablePart {
    let range: Range<Int>
    /// The decimal logarithm of the guesses.
    let magnitude: Double

    init(_ range: Range<Int>, guesses: Double) { self.init(range, magnitude: log10(guesses)) }

    init(_ range: Range<Int>, magnitude: Double) {
        self.range = range
        self.magnitude = magnitude
    }
}
