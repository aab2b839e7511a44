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
    /// The lengths of the first parts of a body of unknown length, at most `PacketReader.partsKept`; one for a body of
    /// known length.
    let parts: [Int64]
    /// How many parts there are.
    let partCount: Int64
    /// The last part reaches to the end of the file, by the format, not by a length.
    let isIndeterminate: Bool

    /// The body is in one piece of known length, as that of all packets but those with data must be.
    var isWhole: Bool { partCount == 1 && !isIndeterminate }

    /// A body in one piece.
    init(tag: UInt8, bodyStart: Int64, bodyLength: Int64, isIndeterminate: Bool = false) {
        self.init(
            tag: tag, bodyStart: bodyStart, bodyLength: bodyLength, end: bodyStart + bodyLength,
            parts: [bodyLength], partCount: 1, isIndeterminate: isIndeterminate)
    }

    init(
        tag: UInt8, bodyStart: Int64, bodyLength: Int64, end: Int64, parts: [Int64], partCount: Int64,
        isIndeterminate: Bool = false
    ) {
        self.tag = tag
        self.bodyStart = bodyStart
        self.bodyLength = bodyLength
        self.end = end
        self.parts = parts
        self.partCount = partCount
        self.isIndeterminate = isIndeterminate
    }
}

/// Reads packet headers through a function, keeping one window of the file so that small files are read once.
///
/// Whoever wrote the message chose its lengths, so nothing here grows with them: the number of reads is bounded by the
/// caller, the memory by `partsKept`.
struct PacketReader {
    let fileSize: Int64
    private let read: (Int64, Int) throws(Errno) -> [UInt8]
    private var readsLeft: Int
    /// A partial length that is too small was met.
    private(set) var hasSmallPart = false
    /// Every header is looked at, however many there are.
    private let isThorough: Bool
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    /// The headers of a message with several recipients fit in; later windows are small, for they hold one length.
    private static let firstWindow = 4096
    private static let laterWindow = 16
    /// A partial length below this is malformed (RFC 4880, 4.2.2.4, of the first part; nobody writes smaller ones later,
    /// and one octet a part would make a small file long to look at).
    static let smallestPart: Int64 = 512
    /// A file beyond it, which only a sparse one can be, says nothing: no sum of lengths overflows.
    private static let largestFile: Int64 = 1 << 50
    /// How many lengths of parts a header keeps.
    static let partsKept = 64

    /// - Parameter maximalReads: When so many windows were read, the rest of the file counts as cut off; without it
    ///   every length of a body in parts is looked at.
    init(
        fileSize: Int64, maximalReads: Int = .max, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) {
        self.fileSize = (0...Self.largestFile).contains(fileSize) ? fileSize : 0
        readsLeft = maximalReads
        isThorough = maximalReads == .max
        self.read = read
    }

    /// Of a message in memory, which must outlive this.
    init(_ bytes: UnsafeRawBufferPointer, maximalReads: Int = .max) {
        self.init(fileSize: Int64(bytes.count), maximalReads: maximalReads) { (offset, count) throws(Errno) in
            guard offset >= 0, offset < Int64(bytes.count) else { return [] }
            return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        }
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
            return PacketHeader(
                tag: tag, bodyStart: offset, bodyLength: fileSize - offset, isIndeterminate: true)
        }
        let octets = 1 << Int(lengthType)
        guard let length = try number(at: offset, octets: octets) else { return nil }
        let start = offset + Int64(octets)
        guard length <= fileSize - start else { return nil }
        return PacketHeader(tag: tag, bodyStart: start, bodyLength: Int64(length))
    }

    private mutating func newHeader(tag: UInt8, at offset: Int64) throws(Errno) -> PacketHeader? {
        guard let first = try length(at: offset) else { return nil }
        guard first.isPartial else {
            return PacketHeader(tag: tag, bodyStart: first.end, bodyLength: first.value)
        }
        var body = Body(start: first.end)
        body.add(first)
        var position = first.end + first.value
        while true {
            // gpg fills buffer after buffer: of a long body only the end has to be looked at.
            if !isThorough, body.count == Int64(Self.partsKept),
                let skipped = try skip(&body, at: position, packetStart: offset - 1)
            {
                position = skipped
            }
            guard let next = try length(at: position) else { return nil }
            body.add(next)
            position = next.end + next.value
            if !next.isPartial {
                return PacketHeader(
                    tag: tag, bodyStart: body.start, bodyLength: body.length, end: position,
                    parts: body.parts, partCount: body.count)
            }
        }
    }

    /// A body in parts as far as it was read.
    private struct Body {
        let start: Int64
        var length: Int64 = 0
        var count: Int64 = 0
        var parts: [Int64] = []

        mutating func add(_ part: Length) {
            length += part.value
            count += 1
            if parts.count < PacketReader.partsKept { parts.append(part.value) }
        }
    }

    /// Steps over the parts of a long body that can only be whole buffers of gpg, where the packet ends with the file.
    /// - Returns: where the length of the first part after them stands; nil when the body is not cut so.
    private mutating func skip(
        _ body: inout Body, at position: Int64, packetStart: Int64
    ) throws(Errno) -> Int64? {
        guard let buffer = body.parts.first, PartialLengths.buffers.contains(buffer),
            body.parts.allSatisfy({ $0 == buffer })
        else { return nil }
        let lengths = PartialLengths(buffer: buffer)
        for candidate in lengths.bodies(ofPacket: fileSize - packetStart) {
            let count = candidate / buffer - body.count
            guard count > 0 else { continue }
            let next = position + count * (buffer + 1)
            guard try ends(at: next) else { continue }
            body.length += count * buffer
            body.count += count
            return next
        }
        return nil
    }

    /// Whether lengths from `position` on lead to the end of the file, in no more parts than the end of a body has.
    private mutating func ends(at position: Int64) throws(Errno) -> Bool {
        var position = position
        for _ in 0..<16 {
            guard let next = try length(at: position) else { return false }
            position = next.end + next.value
            if !next.isPartial { return position == fileSize }
        }
        return false
    }

    /// One length of the new format.
    private struct Length {
        let value: Int64
        /// Where the part begins.
        let end: Int64
        let isPartial: Bool
    }

    /// The length at `position`; nil for one that is cut off, reaches beyond the file, or is partial and too small.
    private mutating func length(at position: Int64) throws(Errno) -> Length? {
        guard let first = try byte(at: position) else { return nil }
        let found: Length
        switch first {
        case ..<192: found = Length(value: Int64(first), end: position + 1, isPartial: false)
        case ..<224:
            guard let second = try byte(at: position + 1) else { return nil }
            found = Length(
                value: (Int64(first) - 192) << 8 + Int64(second) + 192, end: position + 2, isPartial: false)
        case 255:
            guard let value = try number(at: position + 1, octets: 4) else { return nil }
            found = Length(value: Int64(value), end: position + 5, isPartial: false)
        default:
            found = Length(value: 1 << Int64(first & 0x1f), end: position + 1, isPartial: true)
            guard found.value >= Self.smallestPart else {
                hasSmallPart = true
                return nil
            }
        }
        return found.value <= fileSize - found.end ? found : nil
    }

    /// A big-endian number of at most 8 octets.
    mutating func number(at offset: Int64, octets: Int) throws(Errno) -> UInt64? {
        var value: UInt64 = 0
        for index in 0..<octets {
            guard let byte = try byte(at: offset + Int64(index)) else { return nil }
            value = value << 8 | UInt64(byte)
        }
        return value
    }

    /// One octet; nil beyond the end, and when enough was read.
    mutating func byte(at offset: Int64) throws(Errno) -> UInt8? {
        guard offset >= 0, offset < fileSize else { return nil }
        if offset < windowStart || offset - windowStart >= Int64(window.count) {
            guard readsLeft > 0 else { return nil }
            readsLeft -= 1
            let size = offset == 0 ? Self.firstWindow : Self.laterWindow
            window = try read(offset, Int(min(Int64(size), fileSize - offset)))
            windowStart = offset
        }
        let index = Int(offset - windowStart)
        return index < window.count ? window[index] : nil
    }
}
