/// The fingerprint of a version 4 key or subkey: 40 hexadecimal digits (RFC 4880, 12.2).
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The digits in upper case, without spaces.
    public let description: String

    /// Takes 40 hexadecimal digits in any case, with or without spaces between them or `0x` before them; nil for
    /// anything else.
    public init?(_ text: String) {
        var digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        if digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8) { digits.removeFirst(2) }
        guard digits.count == 40, digits.allSatisfy(Self.isHexadecimal) else { return nil }
        description = String(decoding: digits, as: UTF8.self).uppercased()
    }

    /// The last 64 bits: how an encrypted session key names its recipient.
    public var keyID: UInt64 { UInt64(description.suffix(16), radix: 16) ?? 0 }

    static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
