/// A packet of a message that lies in memory, with every part of its body (RFC 4880, 4.2).
///
/// Stricter than gpg: what is unusual is no packet here.
struct WholePacket {
    let tag: UInt8
    /// Where the parts of the body lie, in order.
    let parts: [Range<Int>]
    /// Where the next packet begins.
    let end: Int

    /// The body's length.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// The packet that begins at the start of `range`; nil where it is none, or not within the range.
    init?(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
        var reader = Lengths(bytes: bytes, position: range.lowerBound, end: range.upperBound)
        guard let first = reader.byte(), first & 0x80 != 0 else { return nil }
        var parts: [Range<Int>] = []
        if first & 0x40 == 0 {
            tag = first >> 2 & 0x0f
            let kind = Int(first & 3)
            // Of unknown length: up to the end, which gpg writes for compressed data only.
            if kind == 3, tag != 8 { return nil }
            let length = kind == 3 ? reader.end - reader.position : reader.number(octets: 1 << kind)
            guard let length, let part = reader.take(length) else { return nil }
            parts.append(part)
        } else {
            tag = first & 0x3f
            var isLast = false
            while !isLast {
                guard let length = reader.newLength(), let part = reader.take(length.count) else {
                    return nil
                }
                // As `PacketReader` has it.
                guard !length.isPartial || Int64(length.count) >= PacketReader.smallestPart else {
                    return nil
                }
                parts.append(part)
                isLast = !length.isPartial
            }
        }
        self.parts = parts
        end = reader.position
    }

    private struct Lengths {
        let bytes: UnsafeRawBufferPointer
        var position: Int
        let end: Int

        mutating func byte() -> UInt8? {
            guard position < end else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func number(octets: Int) -> Int? {
            var value = 0
            for _ in 0..<octets {
                guard let byte = byte() else { return nil }
                value = value << 8 | Int(byte)
            }
            return value
        }

        mutating func take(_ count: Int) -> Range<Int>? {
            guard count <= end - position else { return nil }
            defer { position += count }
            return position..<position + count
        }

        mutating func newLength() -> (count: Int, isPartial: Bool)? {
            guard let first = byte() else { return nil }
            switch first {
            case ..<192: return (Int(first), false)
            case ..<224: return byte().map { ((Int(first) - 192) << 8 + Int($0) + 192, false) }
            case 255: return number(octets: 4).map { ($0, false) }
            default: return (1 << Int(first & 0x1f), true)
            }
        }
    }
}
