import CGcrypt

/// The random key that one message is encrypted with, for AES with 256 bits, in the form in which recipients get it:
/// the cipher's id, the key, the sum of its octets (RFC 4880, 5.1), and five octets that fill up to a multiple of
/// eight for those who unwrap it (RFC 6637, 8).
struct SessionKey: ~Copyable {
    /// AES with 256 bits (RFC 4880, 9.2).
    static let cipher: UInt8 = 9
    private static let length = 32
    private static let padding = 5
    private let frame: SecureBytes

    /// A new one.
    init() throws(OpenPGPError) {
        frame = try SecureBytes(count: 1 + Self.length + 2 + Self.padding)
        frame[0] = Self.cipher
        frame.randomize(1..<1 + Self.length)
        var sum: UInt16 = 0
        for index in 1..<1 + Self.length { sum &+= UInt16(frame[index]) }
        frame[1 + Self.length] = UInt8(sum >> 8)
        frame[2 + Self.length] = UInt8(sum & 0xff)
        for index in 0..<Self.padding { frame[3 + Self.length + index] = UInt8(Self.padding) }
    }

    /// The key itself.
    var key: UnsafeRawBufferPointer { .init(rebasing: frame.bytes[1..<1 + Self.length]) }
    /// What is encrypted with RSA.
    var plain: UnsafeRawBufferPointer { .init(rebasing: frame.bytes[..<(3 + Self.length)]) }
    /// What is wrapped for ECDH.
    var padded: UnsafeRawBufferPointer { frame.bytes }
}
