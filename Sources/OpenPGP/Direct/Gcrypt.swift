import CGcrypt
import Glibc
import System

/// libgcrypt, prepared for this process.
enum Gcrypt {
    /// Throws unless `error` is 0. No sentence holds a secret.
    static func check(_ error: gcry_error_t, _ what: StaticString) throws(OpenPGPError) {
        guard error != 0 else { return }
        throw OpenPGPError(
            .other, "\(what): \(gcry_strerror(error).map { String(cString: $0) } ?? "\(error)")")
    }

    /// Whether it can be used; the first look prepares it.
    static var isReady: Bool { GcryptMemory.isReady }

    /// Throws where libgcrypt cannot be used. Whoever takes secure memory calls this first: see `GcryptMemory`.
    static func prepare() throws(OpenPGPError) {
        guard isReady else { throw OpenPGPError(.other, "libgcrypt cannot be used") }
    }

    /// The digest of bytes that are no secret.
    static func digest(_ algorithm: gcry_md_algos, of bytes: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(gcry_md_get_algo_dlen(CInt(algorithm.rawValue))))
        result.withUnsafeMutableBytes { result in
            bytes.withUnsafeBytes {
                gcry_md_hash_buffer(CInt(algorithm.rawValue), result.baseAddress, $0.baseAddress, $0.count)
            }
        }
        return result
    }
}

/// A few secret bytes (session keys, what they are wrapped with) in libgcrypt's secure memory, which it wipes when
/// they are let go. What libgcrypt makes of them stays in secure memory.
struct SecureBytes: ~Copyable {
    let base: UnsafeMutableRawPointer
    let count: Int

    /// So many bytes of undefined content.
    init(count: Int) throws(OpenPGPError) {
        try Gcrypt.prepare()
        guard let base = gcry_malloc_secure(count) else {
            throw OpenPGPError(.other, "there is no secure memory")
        }
        self.base = base
        self.count = count
    }

    deinit {
        explicit_bzero(base, count)
        gcry_free(base)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Fills a part with random bytes fit for keys.
    func randomize(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        gcry_randomize(base + range.lowerBound, range.count, GCRY_STRONG_RANDOM)
    }

    subscript(index: Int) -> UInt8 {
        get {
            precondition(index >= 0 && index < count)
            return base.load(fromByteOffset: index, as: UInt8.self)
        }
        nonmutating set {
            precondition(index >= 0 && index < count)
            base.storeBytes(of: newValue, toByteOffset: index, as: UInt8.self)
        }
    }
}

/// A symmetric cipher under one key.
struct Cipher: ~Copyable {
    let handle: gcry_cipher_hd_t

    init(
        _ algorithm: gcry_cipher_algos, _ mode: gcry_cipher_modes, key: UnsafeRawBufferPointer
    ) throws(OpenPGPError) {
        try Gcrypt.prepare()
        var handle: gcry_cipher_hd_t?
        try Gcrypt.check(
            gcry_cipher_open(
                &handle, CInt(algorithm.rawValue), CInt(mode.rawValue), GCRY_CIPHER_SECURE.rawValue),
            "cannot prepare a cipher")
        guard let handle else { throw OpenPGPError(.other, "cannot prepare a cipher") }
        let error = gcry_cipher_setkey(handle, key.baseAddress, key.count)
        guard error == 0 else {
            gcry_cipher_close(handle)
            throw OpenPGPError(.other, "the cipher refuses its key")
        }
        self.handle = handle
    }

    deinit { gcry_cipher_close(handle) }

    /// Begins with an initialisation vector of zero bytes.
    func zeroVector() throws(OpenPGPError) {
        try Gcrypt.check(gcry_cipher_setiv(handle, nil, 0), "the cipher refuses its start")
    }

    /// Encrypts `source` to the beginning of `target`, going on where the last call ended.
    func encrypt(
        _ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) throws(OpenPGPError) {
        guard source.count > 0 else { return }
        try Gcrypt.check(
            gcry_cipher_encrypt(handle, target.baseAddress, target.count, source.baseAddress, source.count),
            "cannot encrypt")
    }
}

/// A digest of secret bytes.
struct Digest: ~Copyable {
    private let handle: gcry_md_hd_t
    private let algorithm: CInt

    init(_ algorithm: gcry_md_algos) throws(OpenPGPError) {
        try Gcrypt.prepare()
        var handle: gcry_md_hd_t?
        let algorithm = CInt(algorithm.rawValue)
        try Gcrypt.check(
            gcry_md_open(&handle, algorithm, GCRY_MD_FLAG_SECURE.rawValue), "cannot prepare a digest")
        guard let handle else { throw OpenPGPError(.other, "cannot prepare a digest") }
        (self.handle, self.algorithm) = (handle, algorithm)
    }

    deinit { gcry_md_close(handle) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0 { gcry_md_write(handle, bytes.baseAddress, bytes.count) }
    }

    /// Puts the first bytes of the digest into `target`; nothing may be added then.
    func finish(to target: UnsafeMutableRawBufferPointer) throws(OpenPGPError) {
        guard let result = gcry_md_read(handle, algorithm), let base = target.baseAddress,
            target.count <= Int(gcry_md_get_algo_dlen(algorithm))
        else { throw OpenPGPError(.other, "there is no digest") }
        memcpy(base, result, target.count)
    }
}
