import CZlib
import Glibc
import System
import SystemPackage

/// Finds the data in the packets of a decrypted message: one binary literal packet, compressed or not (RFC 4880, 5.6 and
/// 5.9). Everything else is thrown, for gpg to judge.
enum LiteralReader {
    /// The data; `packets` are given up for it, without a copy.
    static func data(in packets: consuming SecretBuffer, limit: Int) throws(OpenPGPError) -> SecretBytes {
        var buffer = packets
        let compressed = try buffer.withUnsafeBytes { (bytes) throws(OpenPGPError) in
            try compressedParts(bytes)
        }
        if let compressed {
            // A literal packet's header and lengths are few beside its data.
            let (bound, overflow) = limit.addingReportingOverflow(4096 + limit / 256)
            var inflated = SecretBuffer()
            try buffer.withUnsafeBytes { (bytes) throws(OpenPGPError) in
                try Inflation.inflate(
                    bytes, compressed.parts, isRaw: compressed.isRaw, to: &inflated,
                    limit: overflow ? .max : bound)
            }
            buffer = inflated
        }
        let parts = try buffer.withUnsafeBytes { (bytes) throws(OpenPGPError) in try literalParts(bytes) }
        guard parts.reduce(0, { $0 + $1.count }) <= limit else { throw unusual }
        do throws(Errno) { try buffer.keep(parts) } catch { throw MessageReader.noMemory }
        return buffer.freeze()
    }

    static var unusual: OpenPGPError { OpenPGPError(.other, "the message is left to gpg") }

    /// Where the compressed octets lie; nil where nothing is compressed.
    private static func compressedParts(
        _ bytes: UnsafeRawBufferPointer
    ) throws(OpenPGPError) -> (parts: [Range<Int>], isRaw: Bool)? {
        guard let packet = WholePacket(bytes, in: 0..<bytes.count) else { throw unusual }
        guard packet.tag == 8 else { return nil }
        guard packet.end == bytes.count, let first = packet.parts.first, !first.isEmpty else { throw unusual }
        // ZIP and ZLIB; the rest is rare.
        let algorithm = bytes[first.lowerBound]
        guard algorithm == 1 || algorithm == 2 else { throw unusual }
        return ([first.dropFirst()] + packet.parts.dropFirst(), algorithm == 1)
    }

    /// Where the data of the one literal packet lies.
    private static func literalParts(_ bytes: UnsafeRawBufferPointer) throws(OpenPGPError) -> [Range<Int>] {
        guard let packet = WholePacket(bytes, in: 0..<bytes.count), packet.tag == 11,
            packet.end == bytes.count,
            let first = packet.parts.first, first.count >= 6, bytes[first.lowerBound] == UInt8(ascii: "b")
        else { throw unusual }
        let length = Int(bytes[first.lowerBound + 1])
        guard first.count >= 6 + length else { throw unusual }
        let name = bytes[first.lowerBound + 2..<first.lowerBound + 2 + length]
        // "For your eyes only" (RFC 4880, 5.9).
        guard !name.elementsEqual("_CONSOLE".utf8) else { throw unusual }
        return [first.dropFirst(6 + length)] + packet.parts.dropFirst()
    }
}

/// zlib, with all that it keeps in secret memory.
enum Inflation {
    /// zlib's state and a window of 32 KiB, its own of each; what does not fit is left to gpg.
    private static let memorySize = 1 << 16

    /// Puts what comes out of the parts, which must end where the compressed data ends, into an empty buffer.
    static func inflate(
        _ bytes: UnsafeRawBufferPointer, _ parts: [Range<Int>], isRaw: Bool, to output: inout SecretBuffer,
        limit: Int
    ) throws(OpenPGPError) {
        // libgcrypt's pool would be too small for all readers of compressed messages at once.
        var memory = SecretBuffer()
        do throws(Errno) { try memory.resize(to: memorySize) } catch { throw MessageReader.noMemory }
        try memory.withUnsafeMutableBytes { (memory) throws(OpenPGPError) in
            let arena = Arena(memory)
            try inflate(bytes, parts, isRaw: isRaw, to: &output, limit: limit, arena)
        }
    }

    /// Memory that is given out piece by piece, and taken back as a whole.
    private final class Arena {
        private var free: UnsafeMutableRawBufferPointer

        init(_ memory: UnsafeMutableRawBufferPointer) { free = memory }

        func take(_ count: Int) -> UnsafeMutableRawPointer? {
            let size = (count + 63) & ~63
            guard size <= free.count, let base = free.baseAddress else { return nil }
            free = UnsafeMutableRawBufferPointer(rebasing: free[size...])
            return base
        }
    }

    private static func inflate(
        _ bytes: UnsafeRawBufferPointer, _ parts: [Range<Int>], isRaw: Bool, to output: inout SecretBuffer,
        limit: Int, _ arena: Arena
    ) throws(OpenPGPError) {
        var stream = z_stream()
        // `arena` outlives the stream: its caller holds it.
        stream.opaque = Unmanaged.passUnretained(arena).toOpaque()
        stream.zalloc = { arena, count, size in
            arena.flatMap {
                Unmanaged<Arena>.fromOpaque($0).takeUnretainedValue().take(Int(count) * Int(size))
            }
        }
        stream.zfree = { _, _ in }
        guard passdir_inflate_init(&stream, isRaw ? -15 : 15) == Z_OK else { throw MessageReader.noMemory }
        defer { inflateEnd(&stream) }
        var count = 0
        var isOver = false
        for part in parts where !part.isEmpty {
            guard !isOver else { throw LiteralReader.unusual }
            stream.next_in = UnsafeMutablePointer(
                mutating: bytes.baseAddress?.advanced(by: part.lowerBound).assumingMemoryBound(to: UInt8.self)
            )
            stream.avail_in = UInt32(part.count)
            while !isOver {
                // Room for as much as text usually grows by, then twice as much each time.
                let room = min(max(4096, 4 * bytes.count, 2 * count), limit)
                if output.count == count {
                    guard count < limit else { throw LiteralReader.unusual }
                    do throws(Errno) { try output.resize(to: room > count ? room : limit) } catch {
                        throw MessageReader.noMemory
                    }
                }
                let free = min(output.count - count, 1 << 30)
                let status = output.withUnsafeMutableBytes { target in
                    stream.next_out = target.baseAddress?.advanced(by: count)
                        .assumingMemoryBound(to: UInt8.self)
                    stream.avail_out = UInt32(free)
                    return CZlib.inflate(&stream, Z_NO_FLUSH)
                }
                count += free - Int(stream.avail_out)
                isOver = status == Z_STREAM_END
                if isOver || status == Z_BUF_ERROR && stream.avail_in == 0 { break }
                guard status == Z_OK else { throw LiteralReader.unusual }
                if stream.avail_in == 0, stream.avail_out > 0 { break }
            }
            guard stream.avail_in == 0 else { throw LiteralReader.unusual }
        }
        guard isOver else { throw LiteralReader.unusual }
        do throws(Errno) { try output.resize(to: count) } catch { throw MessageReader.noMemory }
    }
}
