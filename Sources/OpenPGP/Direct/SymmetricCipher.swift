import CGcrypt

/// A cipher that a message is encrypted with, by its id in OpenPGP (RFC 4880, 9.2; RFC 5581).
struct SymmetricCipher: Sendable, Equatable {
    let id: UInt8

    /// nil for what is none.
    init?(id: UInt8) {
        guard (1...4).contains(id) || (7...13).contains(id) else { return nil }
        self.id = id
    }

    /// How libgcrypt is told.
    var algorithm: gcry_cipher_algos {
        switch id {
        case 11: GCRY_CIPHER_CAMELLIA128
        case 12: GCRY_CIPHER_CAMELLIA192
        case 13: GCRY_CIPHER_CAMELLIA256
        default: gcry_cipher_algos(UInt32(id))
        }
    }

    /// The octets of a key; 0 where libgcrypt does not have the cipher.
    var keyLength: Int { gcry_cipher_get_algo_keylen(CInt(algorithm.rawValue)) }

    /// The octets of a block.
    var blockLength: Int { gcry_cipher_get_algo_blklen(CInt(algorithm.rawValue)) }
}

extension Cipher {
    /// Begins with an initialisation vector or a nonce.
    func setVector(_ vector: [UInt8]) throws(OpenPGPError) {
        try Gcrypt.check(gcry_cipher_setiv(handle, vector, vector.count), "the cipher refuses its start")
    }

    /// Tells what the tag covers beside the text.
    func authenticate(_ data: [UInt8]) throws(OpenPGPError) {
        try Gcrypt.check(gcry_cipher_authenticate(handle, data, data.count), "cannot authenticate")
    }

    /// Decrypts in place, going on where the last call ended.
    func decrypt(_ bytes: UnsafeMutableRawBufferPointer) throws(OpenPGPError) {
        guard bytes.count > 0 else { return }
        try Gcrypt.check(
            gcry_cipher_decrypt(handle, bytes.baseAddress, bytes.count, nil, 0), "cannot decrypt")
    }

    /// As above, from one place to another.
    func decrypt(
        _ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) throws(OpenPGPError) {
        try Gcrypt.check(
            gcry_cipher_decrypt(handle, target.baseAddress, target.count, source.baseAddress, source.count),
            "cannot decrypt")
    }

    /// What is decrypted next is the last of what one tag covers.
    func finalize() throws(OpenPGPError) {
        try Gcrypt.check(
            gcry_cipher_ctl(handle, CInt(GCRYCTL_FINALIZE.rawValue), nil, 0), "the cipher does not end")
    }

    /// Throws unless this is the tag.
    func check(tag: UnsafeRawBufferPointer) throws(OpenPGPError) {
        try Gcrypt.check(gcry_cipher_checktag(handle, tag.baseAddress, tag.count), "the tag is wrong")
    }
}
