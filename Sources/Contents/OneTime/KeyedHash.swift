import CGcrypt
import System

/// HMAC (RFC 2104) of a counter, by libgcrypt in its secure memory, where the key and all that is made of it stay.
enum KeyedHash {
    /// Lends the hash of a counter, eight bytes with the highest first, to `body`; the pointer is valid during the call only.
    static func withHash<Result>(
        _ algorithm: OneTimePassword.Algorithm, key: SecretBytes, of counter: UInt64,
        _ body: (UnsafeRawBufferPointer) throws(ContentsError) -> Result
    ) throws(ContentsError) -> Result {
        guard GcryptMemory.isReady else { throw ContentsError(.system, "libgcrypt cannot be used") }
        let name = CInt(number(of: algorithm).rawValue)
        var opened: gcry_md_hd_t?
        guard
            gcry_md_open(&opened, name, GCRY_MD_FLAG_SECURE.rawValue | GCRY_MD_FLAG_HMAC.rawValue) == 0,
            let handle = opened
        else { throw ContentsError(.system, "libgcrypt gives no hash for a code") }
        // Wipes what it holds, too.
        defer { gcry_md_close(handle) }
        guard key.withUnsafeBytes({ gcry_md_setkey(handle, $0.baseAddress, $0.count) }) == 0 else {
            throw ContentsError(.system, "libgcrypt refuses the key of a code")
        }
        withUnsafeBytes(of: counter.bigEndian) { gcry_md_write(handle, $0.baseAddress, $0.count) }
        guard let hash = gcry_md_read(handle, name) else {
            throw ContentsError(.system, "libgcrypt gives no hash for a code")
        }
        return try body(UnsafeRawBufferPointer(start: hash, count: Int(gcry_md_get_algo_dlen(name))))
    }

    private static func number(of algorithm: OneTimePassword.Algorithm) -> gcry_md_algos {
        switch algorithm {
        case .sha1: GCRY_MD_SHA1
        case .sha256: GCRY_MD_SHA256
        case .sha512: GCRY_MD_SHA512
        }
    }
}
