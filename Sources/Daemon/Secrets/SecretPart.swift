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
        case .first:
            let range = text.withUnsafeBytes { SecretText($0).firstLine }
            guard !range.isEmpty else {
                throw DaemonError(message: "\(name) has no first line, or it is empty")
            }
            return try Self.copy(text, range)
        case .field(let key):
            let fields = text.withUnsafeBytes { SecretText($0) }
            guard let field = fields.field(named: key) else {
                throw DaemonError(message: "\(name) has no field \"\(key)\"; it has: \(Self.names(fields))")
            }
            return try Self.copy(text, field.value)
        case .line(let number):
            let range = text.withUnsafeBytes { Self.line(number, in: $0) }
            guard let range, !range.isEmpty else {
                throw DaemonError(
                    message: "\(name) has no line \(number), or it is empty")
            }
            return try Self.copy(text, range)
        }
    }

    /// Names are shown in the mount, too, and values are not.
    private static func names(_ text: SecretText) -> String {
        let names = text.fields.prefix(20).map(\.name).joined(separator: ", ")
        return names.isEmpty ? "none" : VisibleText.cut(names, atMost: 200)
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
