import SystemPackage

/// Where one packet lies in a message (RFC 4880, 4.2).
struct PacketHeader {
    let tag: UInt8
    /// Where the body begins.
    let bodyStart: Int64
    /// How long the body is without the length octets between its parts.
    let bodyLength: Int64
    /// Where the next packet begins.
    let end: Int64
    /// The lengths of the parts of a body of unknown length; one for a body of known length.
    let parts: [Int64]
    /// The last part reaches to the end of the file, by the format, not by a length.
    let isIndeterminate: Bool
}

/// Reads packet headers through a function, keeping one window of the file so that small files are read once.
struct PacketReader {
    let fileSize: Int64
    private let read: (Int64, Int) throws(Errno) -> [UInt8]
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    /// The headers of a message with several recipients fit in; later windows are small, for they hold one length.
    private static let firstWindow = 4096
    private static let laterWindow = 16

    init(fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]) {
        self.fileSize = fileSize
        self.read = read
    }

    /// The packet at `offset`; nil at the end of the file, for what is no packet, and for one that is cut off.
    mutating func header(at offset: Int64) throws(Errno) -> PacketHeader? {
        guard let first = try byte(at: offset), first & 0x80 != 0 else { return nil }
        return first & 0x40 != 0
            ? try newHeader(tag: first & 0x3f, at: offset + 1)
            : try oldHeader(tag: first >> 2 & 0x0f, lengthType: first & 3, at: offset + 1)
    }

    private mutating func oldHeader(tag: UInt8, lengthType: UInt8, at offset: Int64) throws(Errno)
        -> PacketHeader?
    {
        if lengthType == 3 {
            let length = fileSize - offset
            return PacketHeader(
                tag: tag, bodyStart: offset, bodyLength: length, end: fileSize, parts: [length],
                isIndeterminate: true)
        }
        let octets = 1 << Int(lengthType)
        guard let length = try number(at: offset, octets: octets) else { return nil }
        let start = offset + Int64(octets)
        guard length <= fileSize - start else { return nil }
        return PacketHeader(
            tag: tag, bodyStart: start, bodyLength: length, end: start + length, parts: [length],
            isIndeterminate: false)
    }

    private mutating func newHeader(tag: UInt8, at offset: Int64) throws(Errno) -> PacketHeader? {
        var position = offset
        var start: Int64?
        var total: Int64 = 0
        var parts: [Int64] = []
        while true {
            guard let first = try byte(at: position) else { return nil }
            let length: Int64
            var isLast = true
            switch first {
            case ..<192:
                length = Int64(first)
                position += 1
            case ..<224:
                guard let second = try byte(at: position + 1) else { return nil }
                length = (Int64(first) - 192) << 8 + Int64(second) + 192
                position += 2
            case 255:
                guard let value = try number(at: position + 1, octets: 4) else { return nil }
                length = value
                position += 5
            default:
                length = 1 << Int64(first & 0x1f)
                position += 1
                isLast = false
            }
            guard length <= fileSize - position else { return nil }
            start = start ?? position
            position += length
            total += length
            parts.append(length)
            if isLast {
                return PacketHeader(
                    tag: tag, bodyStart: start ?? position, bodyLength: total, end: position, parts: parts,
                    isIndeterminate: false)
            }
        }
    }

    /// A big-endian number of at most 8 octets.
    mutating func number(at offset: Int64, octets: Int) throws(Errno) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<octets {
            guard let byte = try byte(at: offset + Int64(index)) else { return nil }
            value = value << 8 | UInt64(byte)
        }
        return Int64(bitPattern: value)
    }

    /// One octet; nil beyond the end.
    mutating func byte(at offset: Int64) throws(Errno) -> UInt8? {
        guard offset >= 0, offset < fileSize else { return nil }
        if offset < windowStart || offset >= windowStart + Int64(window.count) {
            let size = offset == 0 ? Self.firstWindow : Self.laterWindow
            window = try read(offset, Int(min(Int64(size), fileSize - offset)))
            windowStart = offset
        }
        let index = Int(offset - windowStart)
        return index < window.count ? window[index] : nil
    }
}
