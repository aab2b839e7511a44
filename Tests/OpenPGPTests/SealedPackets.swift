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

    /// A message with these packets inside.
    func message(_ packets: [UInt8]) throws -> [UInt8] {
        let session = try key.copy()
        let cipher = try Cipher(key.cipher.algorithm, GCRY_CIPHER_MODE_CFB, key: session.bytes)
        try cipher.zeroVector()
        let text = [UInt8](repeating: 7, count: 18) + packets + [0xd3, 20]
        let body = text + Gcrypt.digest(GCRY_MD_SHA1, of: text)
        var encrypted = [UInt8](repeating: 0, count: body.count)
        try body.withBytes { (source) throws(OpenPGPError) in
            try encrypted.withMutableBytes { (target) throws(OpenPGPError) in
                try cipher.encrypt(source, to: target)
            }
        }
        return head + [0xd2] + MessageWriter.length(1 + body.count) + [1] + encrypted
    }
}
