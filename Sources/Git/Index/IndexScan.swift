import Glibc

/// Walks the entries of an index, over its bytes (gitformat-index, versions 2 to 4).
struct IndexScan: ~Copyable {
    /// One entry; what points to bytes is good until the scan goes on for the second time.
    struct Entry {
        /// Where it begins in the index.
        var start: Int
        /// Where the next one begins.
        var end: Int
        /// How long the part before the name is.
        var head: Int
        var name: UnsafeRawBufferPointer
        /// 0, or 1 to 3 in a conflict.
        var stage: UInt8
        /// Marked assume-unchanged or skip-worktree.
        var isAbsenceExcused: Bool
    }

    /// What stands before the first entry: signature, version, number of entries.
    static let headerLength = 12
    /// An entry's metadata, object and flags.
    static let headLength = 62
    /// Where an entry has its parts.
    static let (mtimeOffset, sizeOffset, flagsOffset) = (8, 36, 60)

    /// An index without an entry. Nobody looks at its checksum, which is only to be there.
    static let empty =
        Array("DIRC".utf8) + [0, 0, 0, 2, 0, 0, 0, 0]
        + [UInt8](repeating: 1, count: IndexChecksum.length)

    let version: UInt32
    private let bytes: UnsafeRawBufferPointer
    /// Where the checksum begins.
    let end: Int
    private var remaining: Int
    /// Where the next entry begins, or the extensions.
    private(set) var position = IndexScan.headerLength
    /// The name of the entry before the one that was read last; version 4 has no name twice, so it is put together.
    private(set) var previousName = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The name of the entry that was read last.
    private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The stage of the entry that was read last.
    private var stage: UInt8 = 0
    private var firstName = NameMemory()
    private var secondName = NameMemory()
    private var usesFirst = false

    /// Nil for a version that is not known.
    init?(_ bytes: UnsafeRawBufferPointer) throws(GitError) {
        guard bytes.count >= Self.headerLength + IndexChecksum.length,
            bytes[..<4].elementsEqual("DIRC".utf8)
        else {
            throw Self.damaged("it is truncated")
        }
        self.bytes = bytes
        version = bytes.number(at: 4)
        remaining = Int(bytes.number(at: 8))
        end = bytes.count - IndexChecksum.length
        guard 2...4 ~= version else { return nil }
    }

    /// Why an index cannot be read; `IndexSource.namingDamage` makes the sentence of it.
    static func damaged(_ why: String) -> GitError { GitError(code: .corrupt, message: why) }

    /// The next entry; nil behind the last one.
    mutating func next() throws(GitError) -> Entry? {
        guard remaining > 0 else { return nil }
        remaining -= 1
        let start = position
        guard start + Self.headLength < end else { throw Self.damaged("it is truncated") }
        let flags = UInt16(bytes[start + Self.flagsOffset]) << 8 | UInt16(bytes[start + Self.flagsOffset + 1])
        // The extended flag: two more bytes of flags.
        let head = flags & 0x4000 == 0 ? Self.headLength : Self.headLength + 2
        guard start + head < end else { throw Self.damaged("it is truncated") }
        previousName = name
        if version == 4 {
            try readShortened(from: start + head, flags)
        } else {
            try readName(start, head, flags)
        }
        let stage = UInt8(truncatingIfNeeded: flags >> 12 & 3)
        try checkName(stage: stage, after: self.stage)
        self.stage = stage
        let isSkipped = head > Self.headLength && bytes[start + Self.headLength] & 0x40 != 0
        return Entry(
            start: start, end: position, head: head, name: name, stage: stage,
            isAbsenceExcused: flags & 0x8000 != 0 || isSkipped)
    }

    /// Names are paths, in order; only the sides of a conflict have one name.
    private func checkName(stage: UInt8, after before: UInt8) throws(GitError) {
        // The first entries of a split index may have none, which `IndexPatch` finds out at its end.
        if name.isEmpty, previousName.isEmpty { return }
        guard IndexName.isPlain(name) else {
            throw Self.damaged("it contains a name that is not a file path")
        }
        let order = IndexMarks.order(previousName, name)
        guard order < 0 || order == 0 && 0 < before && before < stage else {
            throw Self.damaged("its names are not sorted")
        }
    }

    /// Passes over entries of version 2 and 3 that stay as they are, as fast as that goes; stops before one that `next`
    /// must look at.
    /// - Parameters:
    ///   - barrier: stops at this name, or behind it.
    ///   - written: stops at a file that is not older than this.
    mutating func skipSettled(
        before barrier: UnsafeRawBufferPointer?, written: IndexTime
    ) -> (bytes: Range<Int>, count: Int) {
        let start = position
        var count = 0
        guard version < 4, let base = bytes.baseAddress else { return (start..<start, 0) }
        var previous = name
        while count < remaining, position + Self.headLength < end {
            let entry = base + position
            let modified = IndexTime(
                seconds: Int32(bitPattern: bytes.number(at: position + Self.mtimeOffset)),
                nanoseconds: bytes.number(at: position + Self.mtimeOffset + 4))
            let flags = UInt16(
                bigEndian: entry.loadUnaligned(fromByteOffset: Self.flagsOffset, as: UInt16.self))
            let length = Int(flags & 0xfff)
            let next = position + (Self.headLength + length + 8) & ~7
            // Neither more flags nor a stage nor a length that is not told, and an end where it belongs.
            guard flags & 0x7000 == 0, length < 0xfff, !modified.mayChangeUnseen(since: written), next <= end,
                hasPadding(from: position + Self.headLength + length, to: next)
            else {
                break
            }
            let name = UnsafeRawBufferPointer(start: entry + Self.headLength, count: length)
            if let barrier, IndexMarks.order(name, barrier) >= 0 { break }
            guard IndexMarks.order(previous, name) < 0, IndexName.isPlain(name) else { break }
            previous = name
            position = next
            count += 1
        }
        if count > 0 { (name, stage) = (previous, 0) }
        remaining -= count
        return (start..<position, count)
    }

    /// Whether the one to eight bytes up to the end of an entry are zeros.
    private func hasPadding(from start: Int, to end: Int) -> Bool {
        let last = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self))
        return last << UInt64(8 * (8 - (end - start))) == 0
    }

    /// Versions 2 and 3: the whole name, and one to eight zeros that make the entry's length a multiple of eight.
    private mutating func readName(_ start: Int, _ head: Int, _ flags: UInt16) throws(GitError) {
        var length = Int(flags & 0xfff)
        if length == 0xfff {
            // As long or longer: up to the zero.
            guard let base = bytes.baseAddress, let zero = memchr(base + start + head, 0, end - start - head)
            else {
                throw Self.damaged("a name is not terminated")
            }
            length = UnsafeRawPointer(zero) - base - start - head
            guard length >= 0xfff else { throw Self.damaged("a name is shorter than its recorded length") }
        }
        position = start + (head + length + 8) & ~7
        guard position <= end, hasPadding(from: start + head + length, to: position) else {
            throw Self.damaged("a name is not terminated")
        }
        name = UnsafeRawBufferPointer(start: bytes.baseAddress! + start + head, count: length)
    }

    /// Version 4: how many bytes of the name before are to be taken away, and what follows instead.
    private mutating func readShortened(from start: Int, _ flags: UInt16) throws(GitError) {
        var place = start
        var dropped = Int(bytes[place] & 0x7f)
        while bytes[place] & 0x80 != 0 {
            place += 1
            guard place < end, dropped < 1 << 24 else { throw Self.damaged("a name is not terminated") }
            dropped = (dropped + 1) << 7 | Int(bytes[place] & 0x7f)
        }
        place += 1
        guard dropped <= previousName.count, place < end,
            let zero = memchr(bytes.baseAddress! + place, 0, end - place)
        else {
            throw Self.damaged("a name is not terminated")
        }
        let added = UnsafeRawBufferPointer(
            start: bytes.baseAddress! + place, count: UnsafeRawPointer(zero) - bytes.baseAddress! - place)
        position = place + added.count + 1
        // The name before lies in the other memory.
        let kept = UnsafeRawBufferPointer(rebasing: previousName.dropLast(dropped))
        usesFirst.toggle()
        name = usesFirst ? firstName.join(kept, added) : secondName.join(kept, added)
        // By which git reads, not by the zero.
        guard flags & 0xfff == min(name.count, 0xfff) else {
            throw Self.damaged("a name does not match its recorded length")
        }
    }
}

/// Memory for a name that is put together.
private struct NameMemory: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 1)

    deinit {
        memory.deallocate()
    }

    mutating func join(_ one: UnsafeRawBufferPointer, _ two: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer
    {
        let count = one.count + two.count
        if memory.count < count {
            memory.deallocate()
            memory = .allocate(byteCount: count * 2, alignment: 1)
        }
        memory.copyMemory(from: one)
        UnsafeMutableRawBufferPointer(rebasing: memory[one.count...]).copyMemory(from: two)
        return UnsafeRawBufferPointer(rebasing: memory[..<count])
    }
}

extension UnsafeRawBufferPointer {
    /// Four bytes, the highest first.
    func number(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
