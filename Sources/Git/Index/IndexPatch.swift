import CGit
import Glibc
import System
import SystemPackage

/// The bytes of an index after some edits, put together from what stays of the old ones and what is new.
///
/// git's index is one file with a checksum over all of it, so a new one is always written whole. To read it into
/// objects and to write those out again costs a microsecond or so an entry, which is most of a commit in a large
/// store. Here the entries are only walked over; nearly all bytes go from the old index to the new one as they are.
struct IndexPatch {
    /// The new index in its order but its checksum; only good while this and the old bytes are.
    private(set) var pieces: [UnsafeRawBufferPointer] = []
    private let old: UnsafeMutableRawBufferPointer
    private let version: UInt32
    private var made = OwnBytes()
    /// What stays and isn't in `pieces` yet.
    private var run = 0..<0
    private var count = 0
    /// Version 4: the name before, where the next entry that stays cannot rely on the entry before it.
    private var seam: [UInt8]?

    /// - Parameters:
    ///   - old: the bytes of the index; entries that would be taken for unchanged by mistake lose their size in it.
    ///   - written: the time of the index.
    /// - Throws: `.corrupt` for an index that is damaged, `.unsupported` for one that holds what is not known here.
    init(_ old: UnsafeMutableRawBufferPointer, written: IndexTime, _ edits: [IndexEdit]) throws(GitError) {
        let bytes = UnsafeRawBufferPointer(old)
        guard var scan = try IndexScan(bytes) else {
            throw Self.unsupported("it has a version that passdir does not support")
        }
        self.old = old
        version = scan.version
        let header = made.keep(Array(bytes[..<IndexScan.headerLength]))
        pieces.append(UnsafeRawBufferPointer(header))
        var marks = IndexMarks(edits)
        var hasNameless = false
        while true {
            let settled = marks.withBarrier { scan.skipSettled(before: $0, written: written) }
            keep(settled.bytes, count: settled.count)
            guard let entry = try scan.next() else { break }
            // What these two bytes of flags may say has grown before.
            if entry.head > IndexScan.headLength,
                bytes[entry.start + IndexScan.headLength] & 0x9f != 0
                    || bytes[entry.start + IndexScan.headLength + 1] != 0
            {
                throw Self.unsupported("an entry has flags that passdir does not support")
            }
            hasNameless = hasNameless || entry.name.isEmpty
            smudgeIfRacy(entry, written)
            if marks.leavesAlone(entry.name) {
                keep(entry)
            } else {
                edit(entry, scan.previousName, &marks)
            }
        }
        while let last = marks.insertion(upTo: nil) { insert(last, after: scan.name) }
        flush()
        try copyExtensions(from: scan.position, to: scan.end)
        // Those of a split index, of which the extension would have told.
        guard !hasNameless else { throw IndexScan.damaged("a name is missing") }
        header.storeBytes(of: UInt32(count).bigEndian, toByteOffset: 8, as: UInt32.self)
    }

    private static func unsupported(_ why: String) -> GitError {
        GitError(code: .unsupported, message: "cannot read the index: \(why)")
    }

    /// Writes the new index.
    /// - Parameter checksum: what `checksum` returned.
    func write(to file: borrowing OwnedDescriptor, checksum: [UInt8]) throws(GitError) {
        let end = made.keep(checksum)
        try GitError.wrapping("cannot write the index", file.writeAll(pieces + [UnsafeRawBufferPointer(end)]))
    }

    /// Whether it ends with a checksum, by which one that was cut short is recognised.
    var hasChecksum: Bool { !IndexChecksum.isAbsent(UnsafeRawBufferPointer(old)) }

    // MARK: entries

    /// git reads a file again whose time isn't older than the index's, for it may have changed within the same second.
    /// A new index is newer than all of them, so such entries lose their size, which makes git read them once more
    /// (Documentation/technical/racy-git).
    private func smudgeIfRacy(_ entry: IndexScan.Entry, _ written: IndexTime) {
        let place = entry.start + IndexScan.mtimeOffset
        let bytes = UnsafeRawBufferPointer(old)
        let modified = IndexTime(
            seconds: Int32(bitPattern: bytes.number(at: place)), nanoseconds: bytes.number(at: place + 4))
        guard modified.mayChangeUnseen(since: written) else { return }
        old.storeBytes(of: 0, toByteOffset: entry.start + IndexScan.sizeOffset, as: UInt32.self)
    }

    private mutating func edit(
        _ entry: IndexScan.Entry, _ previous: UnsafeRawBufferPointer, _ marks: inout IndexMarks
    ) {
        while let mark = marks.insertion(upTo: entry.name) { insert(mark, after: previous) }
        if let mark = marks.mark(at: entry.name), mark.settles || entry.stage == 0 {
            // The new entry follows when the scan is behind the last stage of this name.
            drop(after: previous)
        } else if entry.stage == 0, marks.isBelowFile(entry.name) {
            drop(after: previous)
        } else {
            keep(entry)
        }
    }

    private mutating func keep(_ entry: IndexScan.Entry) {
        count += 1
        if let before = seam {
            seam = nil
            var bytes = Array(old[entry.start..<(entry.start + entry.head)])
            Self.appendShortened(entry.name, after: before, to: &bytes)
            add(bytes)
        } else if run.upperBound == entry.start, !run.isEmpty {
            run = run.lowerBound..<entry.end
        } else {
            flush()
            run = entry.start..<entry.end
        }
    }

    /// Entries of version 2 or 3, one behind the other.
    private mutating func keep(_ entries: Range<Int>, count: Int) {
        guard count > 0 else { return }
        self.count += count
        if run.upperBound != entries.lowerBound || run.isEmpty {
            flush()
            run = entries
        } else {
            run = run.lowerBound..<entries.upperBound
        }
    }

    private mutating func drop(after previous: UnsafeRawBufferPointer) {
        flush()
        if version == 4, seam == nil { seam = Array(previous) }
    }

    private mutating func insert(_ mark: IndexMarks.Mark, after previous: UnsafeRawBufferPointer) {
        guard let entry = mark.entry else { return }
        count += 1
        var bytes = Self.head(entry, nameLength: mark.name.count)
        if version == 4 {
            let before = seam ?? Array(previous)
            mark.name.withUnsafeBytes { Self.appendShortened($0, after: before, to: &bytes) }
            seam = mark.name
        } else {
            bytes += mark.name
            bytes += repeatElement(0, count: 8 - bytes.count % 8)
        }
        add(bytes)
    }

    private static func head(_ entry: IndexEntry, nameLength: Int) -> [UInt8] {
        let file = entry.file
        let numbers = [
            UInt32(bitPattern: file.changed.seconds), file.changed.nanoseconds,
            UInt32(bitPattern: file.modified.seconds), file.modified.nanoseconds, file.device, file.inode,
            entry.blob.mode.rawValue, file.user, file.group, file.size,
        ]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        for number in numbers { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
        bytes += entry.blob.id.bytes
        withUnsafeBytes(of: UInt16(min(nameLength, 0xfff)).bigEndian) { bytes += $0 }
        return bytes
    }

    private static func appendShortened(
        _ name: UnsafeRawBufferPointer, after before: [UInt8], to bytes: inout [UInt8]
    ) {
        let common = zip(name, before).prefix { $0 == $1 }.count
        var rest = before.count - common
        var number = [UInt8(rest & 0x7f)]
        while rest >> 7 != 0 {
            rest = rest >> 7 - 1
            number.append(0x80 | UInt8(rest & 0x7f))
        }
        bytes += number.reversed()
        bytes += name[common...]
        bytes.append(0)
    }

    // MARK: extensions

    /// - Throws: `.unsupported` when there is one that must be known to read the index, but isn't.
    private mutating func copyExtensions(
        from start: Int, to end: Int
    ) throws(GitError) {
        var position = start
        let bytes = UnsafeRawBufferPointer(old)
        while position < end {
            guard position + 8 <= end else { throw IndexScan.damaged("it is truncated") }
            let length = Int(bytes.number(at: position + 4))
            let content = position + 8
            guard content + length <= end else { throw IndexScan.damaged("it is truncated") }
            let signature = String(decoding: bytes[position..<(position + 4)], as: UTF8.self)
            switch signature {
            case "REUC":
                // How conflicts that are settled looked: of the past, whatever is in the entries now.
                pieces.append(UnsafeRawBufferPointer(rebasing: bytes[position..<(content + length)]))
            default:
                // What begins with a capital can be left out: offsets into the old index (EOIE, IEOT), which files a
                // monitor has seen unchanged (FSMN), of which an edited one must not be, and the trees of folders
                // (TREE), which git finds out again: for 100,000 files a tenth of what a `git status` takes.
                guard bytes[position] != 0 else { throw IndexScan.damaged("it is truncated") }
                guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= bytes[position] else {
                    throw Self.unsupported(GitError.adviceForIndex(extension: signature))
                }
            }
            position = content + length
        }
    }

    /// What ends the new index.
    func checksum() throws(GitError) -> [UInt8] {
        if !hasChecksum {
            return [UInt8](repeating: 0, count: IndexChecksum.length)
        }
        let checksum = try IndexChecksum()
        for piece in pieces { checksum.add(piece) }
        return checksum.result()
    }

    // MARK: pieces

    private mutating func add(_ bytes: [UInt8]) {
        flush()
        pieces.append(UnsafeRawBufferPointer(made.keep(bytes)))
    }

    private mutating func flush() {
        if !run.isEmpty { pieces.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(old)[run])) }
        run = 0..<0
    }
}

/// Bytes whose address stays the same as long as this lives.
private final class OwnBytes {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in blocks { block.deallocate() }
    }

    func keep(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
        block.copyBytes(from: bytes)
        blocks.append(block)
        return UnsafeMutableRawBufferPointer(rebasing: block[..<bytes.count])
    }
}
