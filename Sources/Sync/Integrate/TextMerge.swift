import Glibc
import OpenPGP
import System
import SystemPackage

/// Merges two versions of a text that both came from a third, line by line.
///
/// Only places in memory are computed here, never copies: the lines are read where the caller keeps them, and the
/// result is written to secret memory.
enum TextMerge {
    /// Beyond this many lines that differ, no merge is tried.
    private static let limit = 3000

    /// Whether a content is merged as text: without NUL, and UTF-8.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.contains(0) else { return false }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    /// The merged text; nil when both sides changed the same lines in different ways.
    /// - Throws: `.noMemory`.
    static func merge(
        base: UnsafeRawBufferPointer, ours: UnsafeRawBufferPointer, theirs: UnsafeRawBufferPointer
    ) throws(Errno) -> SecretBytes? {
        let (base, ours, theirs) = (Lines(base), Lines(ours), Lines(theirs))
        guard let inOurs = matches(base, ours), let inTheirs = matches(base, theirs) else { return nil }
        var result = SecretBuffer()
        var (b, o, t) = (0, 0, 0)
        for cut in cuts(base.count, inOurs, inTheirs, ours.count, theirs.count) {
            let (inBase, first, second) = (b..<cut.base, o..<cut.ours, t..<cut.theirs)
            (b, o, t) = (cut.base, cut.ours, cut.theirs)
            let oursIsBase = ours.same(first, base, inBase)
            if oursIsBase || ours.same(first, theirs, second) {
                try append(theirs, second, to: &result)
            } else if theirs.same(second, base, inBase) {
                try append(ours, first, to: &result)
            } else {
                return nil
            }
        }
        return result.freeze()
    }

    private static func append(
        _ lines: Lines, _ range: Range<Int>, to result: inout SecretBuffer
    ) throws(Errno) {
        try result.write(lines.bytes(range), at: result.count)
    }

    /// A place between two lines that is the same place in all three.
    private struct Cut {
        var base: Int
        var ours: Int
        var theirs: Int
    }

    /// Where the texts are cut into pieces that are settled each for itself: at every place that both sides know, as
    /// the line before it or the one after it is still there. So changes of neighbouring lines do not collide.
    private static func cuts(
        _ count: Int, _ inOurs: [Int?], _ inTheirs: [Int?], _ oursCount: Int, _ theirsCount: Int
    ) -> [Cut] {
        var cuts: [Cut] = []
        var last = Cut(base: 0, ours: 0, theirs: 0)
        for place in stride(from: 1, to: count, by: 1) {
            guard let ours = boundary(place, inOurs), let theirs = boundary(place, inTheirs),
                ours >= last.ours, theirs >= last.theirs
            else { continue }
            last = Cut(base: place, ours: ours, theirs: theirs)
            cuts.append(last)
        }
        return cuts + [Cut(base: count, ours: oursCount, theirs: theirsCount)]
    }

    private static func boundary(_ place: Int, _ matched: [Int?]) -> Int? {
        if let before = matched[place - 1] { return before + 1 }
        return matched[place]
    }

    /// For each line of `base` the line of `other` that it became, by a longest common subsequence; nil when there
    /// are too many lines to compare.
    private static func matches(_ base: Lines, _ other: Lines) -> [Int?]? {
        var found = [Int?](repeating: nil, count: base.count)
        var start = 0
        while start < base.count, start < other.count, base.same(start, other, start) {
            found[start] = start
            start += 1
        }
        var (end, otherEnd) = (base.count, other.count)
        while end > start, otherEnd > start, base.same(end - 1, other, otherEnd - 1) {
            end -= 1
            otherEnd -= 1
            found[end] = otherEnd
        }
        let (rows, columns) = (end - start, otherEnd - start)
        guard rows > 0, columns > 0 else { return found }
        guard rows <= limit, columns <= limit else { return nil }
        let width = columns + 1
        var lengths = [UInt16](repeating: 0, count: (rows + 1) * width)
        for row in stride(from: rows - 1, through: 0, by: -1) {
            for column in stride(from: columns - 1, through: 0, by: -1) {
                lengths[row * width + column] =
                    base.same(start + row, other, start + column)
                    ? lengths[(row + 1) * width + column + 1] + 1
                    : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
            }
        }
        var (row, column) = (0, 0)
        while row < rows, column < columns {
            if base.same(start + row, other, start + column) {
                found[start + row] = start + column
                row += 1
                column += 1
            } else if lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
                row += 1
            } else {
                column += 1
            }
        }
        return found
    }
}

/// The lines of a text, by their places; each with its newline.
private struct Lines {
    let text: UnsafeRawBufferPointer
    /// Where each line starts, and the end of the last.
    let starts: [Int]

    var count: Int { starts.count - 1 }

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
        var starts = [0]
        for (place, byte) in text.enumerated() where byte == 10 && place + 1 < text.count {
            starts.append(place + 1)
        }
        if !text.isEmpty { starts.append(text.count) }
        self.starts = starts
    }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[starts[range.lowerBound]..<starts[range.upperBound]])
    }

    func same(_ line: Int, _ other: Lines, _ otherLine: Int) -> Bool {
        same(line..<line + 1, other, otherLine..<otherLine + 1)
    }

    func same(_ range: Range<Int>, _ other: Lines, _ otherRange: Range<Int>) -> Bool {
        bytes(range).holdsSame(as: other.bytes(otherRange))
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both hold the same bytes.
    func holdsSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let first = baseAddress, let second = other.baseAddress else { return true }
        return memcmp(first, second, count) == 0
    }
}
