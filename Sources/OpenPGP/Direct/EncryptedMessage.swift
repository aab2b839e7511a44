/// A message as its packets lie: session keys, each encrypted for one key, then data with an integrity check, and nothing
/// else (RFC 4880, 11.3). What is of another form is left to gpg.
struct EncryptedMessage {
    /// How the data is protected.
    enum Protection: Equatable {
        /// Tag 18, version 1: CFB, and SHA-1 over all (RFC 4880, 5.13).
        case code
        /// Tag 20, version 1: chunks with a tag each (GnuPG's packet, draft-ietf-openpgp-rfc4880bis-10, 5.16).
        case tags(cipher: SymmetricCipher, mode: UInt8, chunk: UInt8, vector: [UInt8])
    }

    /// The session key for each recipient, all of algorithms that are known.
    private(set) var sessionKeys: [EncryptedSessionKey] = []
    let protection: Protection
    /// Where the ciphertext lies, in order.
    let parts: [Range<Int>]

    /// nil for what is left to gpg. `bytes` are binary.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        for _ in 0...Packets.maximalRecipients {
            guard let packet = WholePacket(bytes, in: position..<bytes.count) else { return nil }
            position = packet.end
            guard packet.tag != 1 else {
                // gpg refuses the message for a packet that is malformed, though it is another's.
                guard packet.parts.count == 1,
                    let key = EncryptedSessionKey(body: Array(bytes[packet.parts[0]]))
                else { return nil }
                sessionKeys.append(key)
                continue
            }
            guard position == bytes.count, !sessionKeys.isEmpty else { return nil }
            guard let (protection, length) = Self.protection(packet, bytes) else { return nil }
            self.protection = protection
            var parts = packet.parts
            parts[0] = parts[0].dropFirst(length)
            self.parts = parts
            return
        }
        return nil
    }

    /// How the data is protected, and how many octets say so.
    private static func protection(
        _ packet: WholePacket, _ bytes: UnsafeRawBufferPointer
    ) -> (Protection, Int)? {
        // The first part is long enough, or there is no other.
        guard let head = packet.parts.first.map({ Array(bytes[$0].prefix(20)) }), head.first == 1 else {
            return nil
        }
        switch packet.tag {
        case 18: return (.code, 1)
        case 20:
            guard head.count >= 4, let cipher = SymmetricCipher(id: head[1]), cipher.blockLength == 16,
                head[2] == 1 || head[2] == 2, head[3] <= 56
            else { return nil }
            let length = 4 + (head[2] == 1 ? 16 : 15)
            guard head.count >= length else { return nil }
            let vector = Array(head[4..<length])
            return (.tags(cipher: cipher, mode: head[2], chunk: head[3], vector: vector), length)
        default: return nil
        }
    }
}
