import CGcrypt
import System
import SystemPackage

/// Hashes of passwords, by libgcrypt in its secure memory.
public enum PasswordHash {
    /// The number of bytes of SHA-1.
    public static let length = 20

    /// Lends the SHA-1 of a password, by which lists of breaches name it, to `body`; the pointer is valid during the call only.
    /// Whoever has the hash of a weak password has the password: no copy may stay.
    public static func withSHA1<Result, Failure: Error>(
        of password: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try with(GCRY_MD_SHA1, key: nil, password, body)
    }

    /// Lends the HMAC (RFC 2104) with SHA-256.
    static func withKeyed<Result, Failure: Error>(
        _ key: SecretBytes, of password: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try with(GCRY_MD_SHA256, key: key, password, body)
    }

    /// Nil where libgcrypt cannot be used.
    private static func with<Result, Failure: Error>(
        _ algorithm: gcry_md_algos, key: SecretBytes?, _ password: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard GcryptMemory.isReady else { return nil }
        let name = CInt(algorithm.rawValue)
        let flags = GCRY_MD_FLAG_SECURE.rawValue | (key == nil ? 0 : GCRY_MD_FLAG_HMAC.rawValue)
        var opened: gcry_md_hd_t?
        guard gcry_md_open(&opened, name, flags) == 0, let handle = opened else { return nil }
        // Wipes what it holds, too.
        defer { gcry_md_close(handle) }
        if let key {
            guard key.withUnsafeBytes({ gcry_md_setkey(handle, $0.baseAddress, $0.count) }) == 0 else {
                return nil
            }
        }
        gcry_md_write(handle, password.baseAddress, password.count)
        guard let hash = gcry_md_read(handle, name) else { return nil }
        return try body(UnsafeRawBufferPointer(start: hash, count: Int(gcry_md_get_algo_dlen(name))))
    }
}
