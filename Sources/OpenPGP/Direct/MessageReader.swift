import CGcrypt
import Glibc
import System
import SystemPackage

/// Decrypts the data of a message, and gives what is inside when its integrity check has passed, never before.
///
/// Everything happens where the plaintext lies, in secret memory. Whatever is wrong is thrown, for gpg to judge.
enum MessageReader {
    static func plaintext(
        of message: EncryptedMessage, in bytes: UnsafeRawBufferPointer, key: MessageKey, limit: Int
    ) throws(OpenPGPError) -> SecretBytes {
        let secret = try key.copy()
        var buffer = SecretBuffer()
        do throws(Errno) {
            try buffer.resize(to: message.parts.reduce(0) { $0 + $1.count })
            buffer.withUnsafeMutableBytes { target in
                var position = 0
                for part in message.parts {
                    UnsafeMutableRawBufferPointer(rebasing: target[position..<position + part.count])
                        .copyMemory(from: .init(rebasing: bytes[part]))
                    position += part.count
                }
            }
        } catch { throw Self.noMemory }
        let inside: [Range<Int>] = try buffer.withUnsafeMutableBytes { (text) throws(OpenPGPError) in
            switch message.protection {
            case .code: [try checkCode(text, key.cipher, secret.bytes)]
            case .tags(let cipher, let mode, let chunk, let vector):
                try checkTags(
                    text, Chunks(cipher: cipher, mode: mode, chunk: chunk, vector: vector), key.cipher,
                    secret.bytes)
            }
        }
        do throws(Errno) { try buffer.keep(inside) } catch { throw Self.noMemory }
        return try LiteralReader.data(in: buffer, limit: limit)
    }

    static var noMemory: OpenPGPError { OpenPGPError(.outOfMemory, "not enough memory for the plaintext") }
    private static var damaged: OpenPGPError {
        OpenPGPError(.corrupt, "the message is damaged or was tampered with")
    }

    /// Decrypts in place, and checks the SHA-1 at the end (RFC 4880, 5.13 and 5.14).
    /// - Returns: where the packets inside lie.
    private static func checkCode(
        _ text: UnsafeMutableRawBufferPointer, _ symmetric: SymmetricCipher, _ key: UnsafeRawBufferPointer
    ) throws(OpenPGPError) -> Range<Int> {
        let prefix = symmetric.blockLength + 2
        guard text.count >= prefix + 22 else { throw damaged }
        let cipher = try Cipher(symmetric.algorithm, GCRY_CIPHER_MODE_CFB, key: key)
        try cipher.zeroVector()
        try cipher.decrypt(text)
        let end = text.count - 22
        guard text[end] == 0xd3, text[end + 1] == 20 else { throw damaged }
        let digest = try Digest(GCRY_MD_SHA1)
        digest.update(UnsafeRawBufferPointer(rebasing: text[..<(end + 2)]))
        let code = try SecureBytes(count: 20)
        try digest.finish(to: .init(start: code.base, count: code.count))
        guard text[(end + 2)...].elementsEqual(code.bytes) else { throw damaged }
        return prefix..<end
    }

    /// What a packet of tag 20 says of its chunks.
    private struct Chunks {
        let cipher: SymmetricCipher
        let mode: UInt8
        let chunk: UInt8
        let vector: [UInt8]

        static let tagLength = 16

        func nonce(_ index: UInt64) -> [UInt8] {
            var nonce = vector
            for place in 0..<8 {
                nonce[nonce.count - 1 - place] ^= UInt8(truncatingIfNeeded: index >> (8 * place))
            }
            return nonce
        }

        func data(_ index: UInt64) -> [UInt8] { [0xd4, 1, cipher.id, mode, chunk] + octets(index) }

        func octets(_ number: UInt64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
    }

    /// Decrypts each chunk in place, and checks its tag, then the one over all.
    /// - Returns: where the pieces of the packets inside lie.
    private static func checkTags(
        _ text: UnsafeMutableRawBufferPointer, _ chunks: Chunks, _ symmetric: SymmetricCipher,
        _ key: UnsafeRawBufferPointer
    ) throws(OpenPGPError) -> [Range<Int>] {
        guard symmetric == chunks.cipher, text.count >= Chunks.tagLength else { throw damaged }
        let cipher = try Cipher(
            symmetric.algorithm, chunks.mode == 1 ? GCRY_CIPHER_MODE_EAX : GCRY_CIPHER_MODE_OCB, key: key)
        let end = text.count - Chunks.tagLength
        // A chunk that is longer than the message is the only one.
        let size = chunks.chunk < 40 ? 1 << (Int(chunks.chunk) + 6) : Int.max - Chunks.tagLength
        var pieces: [Range<Int>] = []
        var position = 0
        while position < end {
            let count = min(size, end - position - Chunks.tagLength)
            guard count > 0 else { throw damaged }
            let index = UInt64(pieces.count)
            try cipher.setVector(chunks.nonce(index))
            try cipher.authenticate(chunks.data(index))
            try cipher.finalize()
            try cipher.decrypt(.init(rebasing: text[position..<position + count]))
            pieces.append(position..<position + count)
            position += count
            try cipher.check(tag: .init(rebasing: text[position..<position + Chunks.tagLength]))
            position += Chunks.tagLength
        }
        let index = UInt64(pieces.count)
        try cipher.setVector(chunks.nonce(index))
        try cipher.authenticate(
            chunks.data(index) + chunks.octets(UInt64(pieces.reduce(0) { $0 + $1.count })))
        try cipher.finalize()
        // libgcrypt wants to hear that the text is over.
        var nothing: UInt8 = 0
        try Gcrypt.check(gcry_cipher_decrypt(cipher.handle, &nothing, 0, nil, 0), "cannot decrypt")
        try cipher.check(tag: .init(rebasing: text[end...]))
        return pieces
    }
}
