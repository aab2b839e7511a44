import CGcrypt
import Glibc

/// Writes a whole encrypted message: session key packets, then an integrity protected packet (RFC 4880, 5.13) with a
/// literal packet in it, its name empty and nothing compressed, all lengths definite.
///
/// The plaintext is read where it lies and goes straight into the ciphertext.
enum MessageWriter {
    /// A block of AES, and its last two octets again: what a message begins with.
    private static let prefixLength = 18
    /// Tag and length of the packet that holds the SHA-1 (RFC 4880, 5.14).
    private static let codeHeader: [UInt8] = [0xd3, 20]

    /// - Parameter date: Seconds since 1970, told inside the encryption.
    static func message(
        _ plaintext: UnsafeRawBufferPointer, to recipients: [PublicKeyPacket], date: UInt32
    ) throws(OpenPGPError) -> [UInt8] {
        let sessionKey = try SessionKey()
        var message: [UInt8] = []
        for recipient in recipients {
            message += try SessionKeyPacket.bytes(for: recipient, sessionKey)
        }
        let literal = literalHeader(plaintext.count, date)
        let inside = prefixLength + literal.count + plaintext.count + codeHeader.count + 20
        guard inside < 1 << 31 else { throw OpenPGPError(.other, "the plaintext is too long for one packet") }
        message += [0xd2] + length(1 + inside) + [1]
        let start = message.count
        message += [UInt8](repeating: 0, count: inside)
        try message.withMutableBytes { (target) throws(OpenPGPError) in
            try encrypt(plaintext, after: literal, sessionKey, to: .init(rebasing: target[start...]))
        }
        return message
    }

    private static func encrypt(
        _ plaintext: UnsafeRawBufferPointer, after literal: [UInt8], _ sessionKey: borrowing SessionKey,
        to target: UnsafeMutableRawBufferPointer
    ) throws(OpenPGPError) {
        let cipher = try Cipher(GCRY_CIPHER_AES256, GCRY_CIPHER_MODE_CFB, key: sessionKey.key)
        try cipher.zeroVector()
        let digest = try Digest(GCRY_MD_SHA1)
        var written = 0
        func add(_ piece: UnsafeRawBufferPointer) throws(OpenPGPError) {
            try cipher.encrypt(piece, to: .init(rebasing: target[written..<written + piece.count]))
            written += piece.count
        }
        // The first octets, then, in its place, the digest.
        let small = try SecureBytes(count: 20)
        small.randomize(0..<prefixLength - 2)
        small[prefixLength - 2] = small[prefixLength - 4]
        small[prefixLength - 1] = small[prefixLength - 3]
        let prefix = UnsafeRawBufferPointer(rebasing: small.bytes[..<prefixLength])
        digest.update(prefix)
        try add(prefix)
        try literal.withBytes { (literal) throws(OpenPGPError) in
            digest.update(literal)
            try add(literal)
        }
        digest.update(plaintext)
        try add(plaintext)
        try codeHeader.withBytes { (header) throws(OpenPGPError) in
            digest.update(header)
            try add(header)
        }
        try digest.finish(to: .init(start: small.base, count: small.count))
        try add(small.bytes)
        guard written == target.count else {
            throw OpenPGPError(.other, "the message has another length than it should")
        }
    }

    /// Tag, length, binary, no name, the date (RFC 4880, 5.9).
    private static func literalHeader(_ count: Int, _ date: UInt32) -> [UInt8] {
        [0xcb] + length(6 + count) + [UInt8(ascii: "b"), 0] + octets(date)
    }

    /// A definite length in the new form (RFC 4880, 4.2.2), as short as it can be.
    static func length(_ count: Int) -> [UInt8] {
        if count < 192 { return [UInt8(count)] }
        if count < 8384 { return [UInt8((count - 192) >> 8 + 192), UInt8((count - 192) & 0xff)] }
        return [0xff] + octets(UInt32(count))
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
