import System
import SystemPackage

/// Tells whether two passwords are the same without keeping either: each gets a mark, which is a hash with a random key that is
/// in secret memory and ends with this value. Without the key a mark tells nothing.
public struct PasswordMarks: Sendable {
    /// The mark of a password.
    public struct Mark: Sendable, Hashable {
        private let words: SIMD4<UInt64>

        init(_ hash: UnsafeRawBufferPointer) {
            words = SIMD4(
                hash.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                hash.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
                hash.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        }
    }

    private static let keyLength = 32
    private let key: SecretBytes

    /// Takes a key.
    /// - Throws: `.system` without memory or random bytes.
    public init() throws(ContentsError) {
        var buffer = SecretBuffer()
        do throws(Errno) {
            try buffer.resize(to: Self.keyLength)
            try buffer.withUnsafeMutableBytes { (bytes) throws(Errno) in try KernelRandom.fill(bytes) }
        } catch {
            throw ContentsError(memory: error)
        }
        key = buffer.freeze()
    }

    /// The mark of a password.
    /// - Throws: `.system` where libgcrypt cannot be used.
    public func mark(of password: UnsafeRawBufferPointer) throws(ContentsError) -> Mark {
        guard let mark = PasswordHash.withKeyed(key, of: password, { Mark($0) }) else {
            throw ContentsError(.system, "libgcrypt gives no hash for a password")
        }
        return mark
    }
}
