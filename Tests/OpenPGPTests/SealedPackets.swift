import CGcrypt

@testable import OpenPGP

/// The session key of one message and the packet that holds it: any packets can be put inside, with a check that passes.
struct SealedPackets {
    let head: [UInt8]
    let key: MessageKey

    /// - Parameter message: one that `engine` decrypts without gpg, for one recipient.
    init(like message: [UInt8], _ engine: OpenPGPEngine) throws {
        guard let key = try engine.decryptDirectly(message, DecryptionRequest(limit: 1 << 20))?.key,
            let first = message.withUnsafeBytes({ WholePacket($0, in: 0..<$0.count) })
        else { throw Failed(description: "no session key") }
        self.key = key
        head = Array(message.prefix(first.end))
    }

    /// A message with these packets inside, with SHA-1 for integrity (RFC 4880, 5.13).
    /// - Parameter part: the length of the parts in which the ciphertext comes; nil: whole.
    func message(_ packets: [UInt8], inPartsOf part: Int? = nil) throws -> [UInt8] {
        let session = try key.copy()
        let cipher = try Cipher(key.cipher.algorithm, GCRY_CIPHER_MODE_CFB, key: session.bytes)
        try cipher.zeroVector()
        let prefix = [UInt8](repeating: 7, count: key.cipher.blockLength + 2)
        let text = prefix + packets + [0xd3, 20]
        let body = text + Gcrypt.digest(GCRY_MD_SHA1, of: text)
        var encrypted = [UInt8](repeating: 0, count: body.count)
        try body.withBytes { (source) throws(OpenPGPError) in
            try encrypted.withMutableBytes { (target) throws(OpenPGPError) in
                try cipher.encrypt(source, to: target)
            }
        }
        return head + Self.packet(18, [1] + encrypted, inPartsOf: part)
    }

    /// A message with these packets inside, in GnuPG's packet of authenticated encryption (tag 20).
    /// - Parameters:
    ///   - mode: 1 for EAX, 2 for OCB.
    ///   - chunk: what a chunk's length is told by: 2 to the power of 6 more.
    func authenticated(_ packets: [UInt8], mode: UInt8, chunk: UInt8) throws -> [UInt8] {
        let session = try key.copy()
        let cipher = try Cipher(
            key.cipher.algorithm, mode == 1 ? GCRY_CIPHER_MODE_EAX : GCRY_CIPHER_MODE_OCB, key: session.bytes)
        let start = (0..<(mode == 1 ? 16 : 15)).map { _ in UInt8.random(in: 0...255) }
        let form = [1, key.cipher.id, mode, chunk]
        func octets(_ number: Int) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        var body = form + start
        func add(_ text: ArraySlice<UInt8>, _ index: Int, _ more: [UInt8] = []) throws(OpenPGPError) {
            var nonce = start
            for (place, octet) in zip((start.count - 8)..<start.count, octets(index)) {
                nonce[place] ^= octet
            }
            try cipher.setVector(nonce)
            try cipher.authenticate([0xd4] + form + octets(index) + more)
            try cipher.finalize()
            var encrypted = [UInt8](repeating: 0, count: text.count + 1)
            var tag = [UInt8](repeating: 0, count: 16)
            // The end is to be heard of, too, where there is no text.
            try Gcrypt.check(
                gcry_cipher_encrypt(cipher.handle, &encrypted, encrypted.count, Array(text), text.count),
                "no text")
            try Gcrypt.check(gcry_cipher_gettag(cipher.handle, &tag, tag.count), "no tag")
            body += encrypted.dropLast() + tag
        }
        let size = 1 << (Int(chunk) + 6)
        let starts = Array(stride(from: 0, to: packets.count, by: size))
        for (index, place) in starts.enumerated() {
            try add(packets[place..<min(place + size, packets.count)], index)
        }
        try add([], starts.count, octets(packets.count))
        return head + Self.packet(20, body)
    }

    /// A literal packet, binary and without a name.
    static func literal(_ data: [UInt8], inPartsOf part: Int? = nil) -> [UInt8] {
        packet(11, [UInt8(ascii: "b"), 0, 0, 0, 0, 0] + data, inPartsOf: part)
    }

    private static func packet(_ tag: UInt8, _ body: [UInt8], inPartsOf part: Int? = nil) -> [UInt8] {
        var packet = [0xc0 | tag]
        var rest = body[...]
        while let part, rest.count >= part {
            packet.append(0xe0 | UInt8(part.trailingZeroBitCount))
            packet += rest.prefix(part)
            rest = rest.dropFirst(part)
        }
        return packet + MessageWriter.length(rest.count) + rest
    }
}
