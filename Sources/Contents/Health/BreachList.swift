public import SystemPackage

/// A list of passwords that are known from breaches, as Have I Been Pwned gives it: lines `SHA1HEX:COUNT`, sorted by their
/// hashes. It may have billions of lines: a search reads some forty small pieces of it, and none is kept.
public struct BreachList {
    /// Reads up to so many bytes from a place; fewer at the end only.
    public typealias Reading = (_ offset: Int64, _ count: Int) throws(Errno) -> [UInt8]

    /// The longest line that is taken for one of such a list, with its line break.
    private static let longestLine = 128
    /// So little is searched line by line.
    private static let block: Int64 = 4096

    private let size: Int64
    private let read: Reading

    /// A list; looks at its ends.
    /// - Parameter size: the number of bytes.
    /// - Throws: `.invalid` where these are no lines of such a list, or are not sorted; `.system` where it cannot be read.
    public init(size: Int64, read: @escaping Reading) throws(ContentsError) {
        (self.size, self.read) = (size, read)
        guard let first = try line(at: 0) else { throw Self.wrong("is empty") }
        let tail = max(0, size - Int64(Self.longestLine))
        let start = tail == 0 ? 0 : try lineStart(from: tail, before: size)
        var last = first
        var place = start ?? size
        while place < size, let line = try line(at: place) { (last, place) = (line, line.end) }
        guard start != nil, first.hash <= last.hash else { throw Self.unsorted }
    }

    /// Whether a password of this SHA-1 is in the list.
    /// - Throws: as `init`, of what the search meets.
    public func contains(_ hash: UnsafeRawBufferPointer) throws(ContentsError) -> Bool {
        guard hash.count == PasswordHash.length else { return false }
        // All lines before `low` are smaller, and all that begin at `high` or behind it are larger.
        var (low, high) = (Int64(0), size)
        var (smallest, largest) = (Hash.lowest, Hash.highest)
        while high - low > Self.block {
            let middle = low + (high - low) / 2
            guard let start = try lineStart(from: middle, before: high), let line = try line(at: start)
            else {
                high = middle
                continue
            }
            guard smallest <= line.hash, line.hash <= largest else { throw Self.unsorted }
            switch line.hash.compared(to: hash) {
            case 0: return true
            case 1: (high, largest) = (middle, line.hash)
            default: (low, smallest) = (line.end, line.hash)
            }
        }
        while low < high, let line = try line(at: low) {
            guard smallest <= line.hash, line.hash <= largest else { throw Self.unsorted }
            if line.hash.compared(to: hash) == 0 { return true }
            (low, smallest) = (line.end, line.hash)
        }
        return false
    }

    private struct Line {
        let hash: Hash
        let end: Int64
    }

    /// Where the first line begins that begins at a place or behind it; nil where none does before another place.
    private func lineStart(from place: Int64, before end: Int64) throws(ContentsError) -> Int64? {
        // The line break before a line that begins just there is the byte before it.
        let bytes = try piece(at: place - 1, Self.longestLine + 1)
        guard let found = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            if place + Int64(Self.longestLine) >= size { return nil }
            throw Self.wrong("has lines that are too long")
        }
        let start = place + Int64(found)
        return start < end ? start : nil
    }

    private func line(at place: Int64) throws(ContentsError) -> Line? {
        let bytes = try piece(at: place, Self.longestLine)
        guard !bytes.isEmpty else { return nil }
        let count = bytes.firstIndex(of: UInt8(ascii: "\n"))
        let digits = Hash.digitCount
        // The last line may end without a line break, and the count may be left out.
        guard count != nil || bytes.count < Self.longestLine, bytes.count >= digits,
            let hash = Hash(bytes.prefix(digits)),
            bytes.count == digits || Self.ends(bytes[digits])
        else { throw Self.wrong("has lines that are not SHA1HEX:COUNT") }
        return Line(hash: hash, end: place + Int64(count.map { $0 + 1 } ?? bytes.count))
    }

    private static func ends(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
    }

    private func piece(at place: Int64, _ count: Int) throws(ContentsError) -> [UInt8] {
        do throws(Errno) { return try read(place, count) } catch {
            throw ContentsError(.system, "it cannot be read: \(error)")
        }
    }

    private static func wrong(_ what: String) -> ContentsError {
        ContentsError(
            .invalid, "it \(what): it must be the SHA-1 list of Have I Been Pwned, sorted by hash")
    }

    private static var unsorted: ContentsError { wrong("is not sorted") }
}

/// A hash as a list of breaches has it.
private struct Hash: Comparable {
    static let digitCount = PasswordHash.length * 2
    static let lowest = Hash(high: 0, middle: 0, low: 0)
    static let highest = Hash(high: .max, middle: .max, low: .max)

    private let high: UInt64
    private let middle: UInt64
    private let low: UInt32

    private init(high: UInt64, middle: UInt64, low: UInt32) {
        (self.high, self.middle, self.low) = (high, middle, low)
    }

    /// From hexadecimal digits; nil where they are none.
    init?(_ digits: ArraySlice<UInt8>) {
        var values: [UInt64] = [0, 0, 0]
        for (offset, digit) in digits.enumerated() {
            guard let value = digit.hexadecimalValue else { return nil }
            values[offset / 16] = values[offset / 16] << 4 | UInt64(value)
        }
        self.init(high: values[0], middle: values[1], low: UInt32(values[2]))
    }

    /// 0 where these are the bytes of this hash, 1 where this one is larger, else -1. Looks at them where they lie.
    func compared(to bytes: UnsafeRawBufferPointer) -> Int {
        let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        let middle = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let low = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        let other = Hash(high: high, middle: middle, low: low)
        return self == other ? 0 : self > other ? 1 : -1
    }

    static func < (one: Hash, other: Hash) -> Bool {
        (one.high, one.middle, one.low) < (other.high, other.middle, other.low)
    }
}
