import CGit
import TestKit

@testable import Git

/// A pack of some kilobytes that holds a huge blob: 16 MiB of zeros, and a delta that says to copy them again and again
/// (gitformat-pack(5)). git makes no such delta by itself.
enum DeltaPack {
    private static let chunk = 16 << 20 - 1 << 16

    /// Puts it into a repository.
    /// - Parameter chunks: how often the zeros are copied.
    /// - Returns: the id of the blob.
    static func zeros(chunks: Int, in builder: HostileTree) throws -> String {
        var bytes = Wire.packHead(2)
        let base = bytes.count
        bytes += head(kind: 3, size: chunk) + (try deflatedZeros(builder))
        var delta = number(chunk) + number(chunk * chunks)
        // Copy from offset 0: all three bytes of the size follow.
        for _ in 0..<chunks {
            delta += [0xf0] + [0, 8, 16].map { UInt8(truncatingIfNeeded: chunk >> $0) }
        }
        let start = bytes.count
        bytes += head(kind: 6, size: delta.count) + distance(start - base) + stored(delta)
        let checksum = try IndexChecksum()
        bytes.withUnsafeBytes { checksum.add($0) }
        bytes += checksum.result()
        try builder.home.succeed(
            ["git", "index-pack", "--stdin"], input: bytes, in: builder.repository, limit: .seconds(900))
        let id = try builder.home.succeed(
            ["sh", "-c", "head -c \(chunk * chunks) /dev/zero | git hash-object --stdin"],
            in: builder.repository, limit: .seconds(900))
        return String(decoding: id.prefix(40), as: UTF8.self)
    }

    /// Kind and size, four bits of it first, then seven a byte.
    private static func head(kind: UInt8, size: Int) -> [UInt8] {
        let rest = size >> 4
        let first = kind << 4 | UInt8(size & 15)
        return rest == 0 ? [first] : [first | 0x80] + number(rest)
    }

    /// Seven bits a byte, the lowest first.
    private static func number(_ value: Int) -> [UInt8] {
        value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7f | 0x80)] + number(value >> 7)
    }

    /// How far back the base begins: the highest bits first, each byte but the last one more.
    private static func distance(_ value: Int) -> [UInt8] {
        var bytes = [UInt8(value & 0x7f)]
        var rest = value >> 7
        while rest > 0 {
            rest -= 1
            bytes.insert(UInt8(rest & 0x7f | 0x80), at: 0)
            rest >>= 7
        }
        return bytes
    }

    /// zlib's form of a few bytes (RFC 1950, RFC 1951): one block that is stored.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let (length, other) = (UInt16(bytes.count), ~UInt16(bytes.count))
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return [0x78, 0x01, 1] + [length, other].flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] } + bytes
            + big(high << 16 | low)
    }

    /// zlib's form of the base: the blocks that gzip makes, between another head and end.
    private static func deflatedZeros(_ builder: HostileTree) throws -> [UInt8] {
        let zipped = try builder.home.succeed(["sh", "-c", "head -c \(chunk) /dev/zero | gzip -n9"])
        return [0x78, 0xda] + zipped.dropFirst(10).dropLast(8) + big(UInt32(chunk % 65521) << 16 | 1)
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
