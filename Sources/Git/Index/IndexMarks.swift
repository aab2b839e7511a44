import Glibc
import System

/// The places in the order of an index at which edits make something different.
///
/// As for `git add`, a file takes the place of a folder of its name, and of files that have the names of the folders
/// above it; what is in conflict at an edited path is settled.
struct IndexMarks {
    /// A name at which something is taken out or put in.
    struct Mark {
        var name: [UInt8]
        /// What is in conflict there goes too.
        var settles: Bool
        /// What is to be there.
        var entry: IndexEntry?
    }

    private let marks: [Mark]
    /// Names of new files, each with the slash of a folder.
    private let folders: [[UInt8]]
    private var nextMark = 0
    private var nextFolder = 0
    /// The entries before this name stay as they are; nil: all that follow.
    private var barrier: [UInt8]?

    init(_ edits: [IndexEdit]) {
        var marks: [[UInt8]: Mark] = [:]
        var folders: [[UInt8]] = []
        for edit in edits {
            let name = edit.path.bytes
            marks[name] = Mark(name: name, settles: true, entry: edit.entry)
        }
        for mark in marks.values where mark.entry != nil {
            folders.append(mark.name + [UInt8(ascii: "/")])
            for (place, byte) in mark.name.enumerated() where byte == UInt8(ascii: "/") {
                let above = Array(mark.name[..<place])
                if marks[above] == nil { marks[above] = Mark(name: above, settles: false, entry: nil) }
            }
        }
        self.marks = marks.values.sorted { $0.name.lexicographicallyPrecedes($1.name) }
        self.folders = folders.sorted { $0.lexicographicallyPrecedes($1) }
        setBarrier()
    }

    /// Whether nothing is to be done at a name, nor before it.
    func leavesAlone(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let barrier else { return true }
        return barrier.withUnsafeBytes { Self.order(name, $0) } < 0
    }

    /// What `leavesAlone` compares a name with; nil when it is true of all that follow.
    func withBarrier<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let barrier else { return body(nil) }
        return barrier.withUnsafeBytes { body($0) }
    }

    /// The next thing to put in that belongs before `name` or exactly there; nil for `name`: whatever is left.
    mutating func insertion(upTo name: UnsafeRawBufferPointer?) -> Mark? {
        while nextMark < marks.count {
            let mark = marks[nextMark]
            if let name {
                let order = mark.name.withUnsafeBytes { Self.order($0, name) }
                if order > 0 { return nil }
                // Stays the next mark for the other stages at this name.
                if order == 0 { return nil }
            }
            nextMark += 1
            setBarrier()
            if mark.entry != nil { return mark }
        }
        return nil
    }

    /// The mark at exactly this name.
    func mark(at name: UnsafeRawBufferPointer) -> Mark? {
        guard nextMark < marks.count else { return nil }
        let mark = marks[nextMark]
        return mark.name.withUnsafeBytes { Self.order($0, name) } == 0 ? mark : nil
    }

    /// Whether a file is put where the folder of `name` was.
    mutating func isBelowFile(_ name: UnsafeRawBufferPointer) -> Bool {
        while nextFolder < folders.count {
            let folder = folders[nextFolder]
            if name.starts(with: folder) { return true }
            if folder.withUnsafeBytes({ Self.order($0, name) }) > 0 { return false }
            nextFolder += 1
            setBarrier()
        }
        return false
    }

    private mutating func setBarrier() {
        let mark = nextMark < marks.count ? marks[nextMark].name : nil
        let folder = nextFolder < folders.count ? folders[nextFolder] : nil
        if let mark, let folder {
            barrier = mark.lexicographicallyPrecedes(folder) ? mark : folder
        } else {
            barrier = mark ?? folder
        }
    }

    /// Below zero when `one` comes first in an index.
    static func order(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
        let count = min(one.count, other.count)
        if count > 0, let left = one.baseAddress, let right = other.baseAddress {
            let order = memcmp(left, right, count)
            if order != 0 { return Int(order) }
        }
        return one.count - other.count
    }
}
