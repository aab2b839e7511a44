import CGit
import Glibc
import SystemPackage
import Testing

@testable import Git

/// Indexes that no git writes, with a checksum that is right: an edit of one is refused, as what it would become is
/// anybody's guess.
@Suite struct DamagedIndexTests {
    struct Entry: Sendable {
        var name: [UInt8]
        /// What the entry says of its name's length; nil: the truth.
        var length: Int?
        var stage = 0
        /// What follows the name up to the next entry, in versions 2 and 3.
        var padding: UInt8 = 0
        /// Version 4: what is taken away from the name before; nil: as much as is needed.
        var dropped: Int?

        init(_ name: String, length: Int? = nil, stage: Int = 0, padding: UInt8 = 0, dropped: Int? = nil) {
            self.name = Array(name.utf8)
            (self.length, self.stage, self.padding, self.dropped) = (length, stage, padding, dropped)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var entries: [Entry]
        /// Versions of the format that can say this.
        var versions: [UInt32] = [2, 3, 4]

        init(_ name: String, _ entries: [Entry], versions: [UInt32] = [2, 3, 4]) {
            (testDescription, self.entries, self.versions) = (name, entries, versions)
        }
    }

    private static let long = "n/" + String(repeating: "long", count: 1200)

    static let damaged: [Row] = [
        .init("a zero in a name", [.init("a"), .init("b\0c")], versions: [2, 3]),
        .init("a zero at the end of a name", [.init("a"), .init("b\0\0\0\0", length: 5)], versions: [2, 3]),
        .init("a zero in a long name", [.init("a"), .init("b\0" + long, length: 0xfff)], versions: [2, 3]),
        .init("a length that is too large", [.init("a"), .init("bcd", length: 4)]),
        .init("a length that is too small", [.init("a"), .init("bcd", length: 2)]),
        .init("a short name of a length that is not told", [.init("a"), .init("bcd", length: 0xfff)]),
        .init("a long name of a short length", [.init("a"), .init(long, length: 0xffe)]),
        .init("no zeros behind a name", [.init("a"), .init("bcd", padding: 1)], versions: [2, 3]),
        .init("no name", [.init(""), .init("b")]),
        .init("names out of order", [.init("a"), .init("c"), .init("b")]),
        .init("a folder's names out of order", [.init("a/b"), .init("a-b")]),
        .init("a name twice", [.init("a"), .init("b"), .init("b")]),
        .init("a side of a conflict twice", [.init("a", stage: 2), .init("a", stage: 2)]),
        .init("sides of a conflict out of order", [.init("a", stage: 3), .init("a", stage: 2)]),
        .init("a conflict that is settled", [.init("a"), .init("a", stage: 2)]),
        .init("git's name", [.init(".git"), .init("a")]),
        .init("git's folder", [.init(".git/config"), .init("a")]),
        .init("git's folder in large letters", [.init(".GIT/config"), .init("a")]),
        .init("git's folder, deep", [.init("a/b/.Git/config"), .init("b")]),
        .init("git's name, deep", [.init("a/.git"), .init("b")]),
        .init("the folder above", [.init("../a"), .init("a")]),
        .init("the folder above, at the end", [.init("a/.."), .init("b")]),
        .init("the folder above, deep", [.init("a/../b"), .init("b")]),
        .init("the folder itself", [.init("."), .init("b")]),
        .init("the folder itself, deep", [.init("a/./b"), .init("b")]),
        .init("a folder without a name", [.init("a//b"), .init("b")]),
        .init("an absolute name", [.init("/etc/passwd"), .init("a")]),
        .init("more dropped than there is", [.init("a"), .init("b", dropped: 2)], versions: [4]),
    ]

    static let whole: [Row] = [
        .init(
            "names with dots",
            ["....", "..x", ".gitx", ".x", "a/..b", "a/.gitx", "a/.gpg-id", "x"].map { .init($0) }),
        .init("a conflict", [.init("a", stage: 1), .init("a", stage: 2), .init("a", stage: 3), .init("b")]),
        .init("a long name", [.init("a"), .init(long), .init("z")]),
    ]

    /// Edits that leave the damage behind them, at it, and before it.
    private static let edits = ["0", "b", "zz"]

    @Test(arguments: damaged) func aDamagedEntryIsRefused(_ row: Row) {
        for version in row.versions {
            for edit in Self.edits {
                expectGitError(.corrupt) { _ = try Self.patch(row.entries, version, edit) }
            }
        }
    }

    @Test(arguments: whole) func whatGitWritesIsNotRefused(_ row: Row) throws {
        for version in row.versions {
            for edit in Self.edits { #expect(try Self.patch(row.entries, version, edit)) }
        }
    }

    /// Whether the index is patched.
    private static func patch(_ entries: [Entry], _ version: UInt32, _ edit: String) throws(GitError) -> Bool
    {
        var index = try bytes(entries, version)
        let blob = TreeEntry(id: ObjectID(bytes: [UInt8](repeating: 7, count: 20))!, mode: GIT_FILEMODE_BLOB)
        let edits = [
            IndexEdit(path: FilePath(edit), entry: IndexEntry(blob, stat: nil, readAt: timespec()))
        ]
        do {
            return try index.withUnsafeMutableBytes {
                _ = try IndexPatch($0, written: IndexTime(seconds: 1000, nanoseconds: 0), edits)
                return true
            }
        } catch let error as GitError {
            throw error
        } catch {
            return false
        }
    }

    private static func bytes(_ entries: [Entry], _ version: UInt32) throws(GitError) -> [UInt8] {
        var bytes = Array("DIRC".utf8) + octets(version) + octets(UInt32(entries.count))
        var before: [UInt8] = []
        for entry in entries {
            let start = bytes.count
            for number: UInt32 in [1, 0, 1, 0, 1, 2, 0o100644, 3, 4, 5] { bytes += octets(number) }
            bytes += [UInt8](repeating: 9, count: 20)
            let length = entry.length ?? min(entry.name.count, 0xfff)
            bytes += [UInt8(entry.stage << 4 | length >> 8), UInt8(length & 0xff)]
            if version == 4 {
                let common = zip(entry.name, before).prefix { $0 == $1 }.count
                let dropped = entry.dropped ?? before.count - common
                bytes +=
                    dropped < 0x80
                    ? [UInt8(dropped)] : [UInt8(0x80 | (dropped >> 7 - 1)), UInt8(dropped & 0x7f)]
                bytes += entry.name[common...] + [0]
            } else {
                bytes += entry.name + [0]
                while (bytes.count - start) % 8 != 0 { bytes.append(entry.padding) }
            }
            before = entry.name
        }
        let checksum = try IndexChecksum()
        bytes.withUnsafeBytes { checksum.add($0) }
        return bytes + checksum.result()
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
