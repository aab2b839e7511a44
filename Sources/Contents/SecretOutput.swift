import System
import SystemPackage

/// Secret text that is put together piece by piece, in secret memory from its first byte on.
struct SecretOutput: ~Copyable {
    private var buffer = SecretBuffer()

    /// The number of bytes so far.
    var count: Int { buffer.count }

    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(ContentsError) {
        do throws(Errno) {
            try buffer.write(bytes, at: buffer.count)
        } catch {
            throw ContentsError(memory: error)
        }
    }

    mutating func append(_ secret: SecretBytes) throws(ContentsError) {
        try secret.withUnsafeBytes { (bytes) throws(ContentsError) in try append(bytes) }
    }

    mutating func append(_ byte: UInt8) throws(ContentsError) {
        try withUnsafePointer(to: byte) { (byte) throws(ContentsError) in
            try append(UnsafeRawBufferPointer(start: byte, count: 1))
        }
    }

    /// Of text that is no secret.
    mutating func append(_ text: StaticString) throws(ContentsError) {
        try append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Of text that is no secret.
    mutating func append(_ text: String) throws(ContentsError) {
        for byte in text.utf8 { try append(byte) }
    }

    /// What was put together; without a copy.
    consuming func finish() -> SecretBytes { buffer.freeze() }
}
