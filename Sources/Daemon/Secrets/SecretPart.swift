import Contents
import Glibc
public import System

/// What of a secret is wanted.
public enum SecretPart: Sendable, Equatable {
    /// All of it, byte for byte.
    case whole
    /// A line, from 1; the first is the password.
    case line(Int)
    /// The first line as `Contents` finds it, which in an old gopass secret is a header.
    case first
    /// The value of a field, by its name.
    case field(String)

    /// - Parameter name: STORE/PATH, for the sentence where there is no such part.
    public func of(_ text: SecretBytes, named name: String) throws(DaemonError) -> SecretBytes {
        switch self {
        case .whole: return text
        case .first: return try Self.part(.first, of: text, name)
        case .field(let key): return try Self.part(.field(key), of: text, name)
        case .line(let number):
            let range = text.withUnsafeBytes { Self.line(number, in: $0) }
            guard let range, !range.isEmpty else {
                throw DaemonError(
                    message: "\(name) has no line \(number), or it is empty")
            }
            return try Self.copy(text, range)
        }
    }

    private static func part(
        _ part: TemplateReference.Part, of text: SecretBytes, _ name: String
    ) throws(DaemonError) -> SecretBytes {
        try DaemonError.wrapping {
            try text.withUnsafeBytes { try part.source(in: $0, named: name, tellsFields: true) }
        }
    }

    private static func line(_ number: Int, in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
        var start = 0
        for _ in 1..<max(number, 1) {
            guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            start = end + 1
        }
        return start..<(bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
    }

    private static func copy(_ text: SecretBytes, _ range: Range<Int>) throws(DaemonError) -> SecretBytes {
        try DaemonError.wrapping {
            try text.withUnsafeBytes { try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }
}
