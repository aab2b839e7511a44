import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Mount

/// What a file holds: reads, writes, truncations, sizes, and when it reaches the disk.
@Suite struct ContentTests {
    /// One step on an open file that holds "0123456789", or what it fails with.
    struct Edit: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var flags = O_RDWR
        var error: Errno?
        var after: String
        var edit: @Sendable (TestFile) throws(Errno) -> Void
    }

    static let edits = [
        Edit(testDescription: "over the middle", after: "01ab456789") { file throws(Errno) in
            try file.write("ab", at: 2)
        },
        Edit(testDescription: "beyond the end", after: "0123456789\0\0ab") { file throws(Errno) in
            try file.write("ab", at: 12)
        },
        Edit(testDescription: "across the end", after: "012345678ab") { file throws(Errno) in
            try file.write("ab", at: 9)
        },
        Edit(testDescription: "nothing", after: "0123456789") { file throws(Errno) in
            try file.write("", at: 5)
        },
        Edit(testDescription: "appending", flags: O_RDWR | O_APPEND, after: "0123456789ab") {
            file throws(Errno) in try file.write("ab", at: 0)
        },
        Edit(testDescription: "too far", error: .fileTooLarge, after: "0123456789") { file throws(Errno) in
            try file.write("ab", at: 1 << 20)
        },
        Edit(testDescription: "up to the limit and one more", error: .fileTooLarge, after: "0123456789") {
            file throws(Errno) in try file.write("ab", at: (1 << 20) - 1)
        },
        Edit(testDescription: "far beyond all numbers", error: .fileTooLarge, after: "0123456789") {
            file throws(Errno) in try file.write("ab", at: .max)
        },
        Edit(testDescription: "before the beginning", error: .invalidArgument, after: "0123456789") {
            file throws(Errno) in try file.write("ab", at: -1)
        },
        Edit(
            testDescription: "without leave", flags: O_RDONLY, error: .badFileDescriptor, after: "0123456789"
        ) { file throws(Errno) in try file.write("ab") },
        Edit(testDescription: "shorter", after: "0123") { file throws(Errno) in try file.truncate(to: 4) },
        Edit(testDescription: "longer", after: "0123456789\0\0") { file throws(Errno) in
            try file.truncate(to: 12)
        },
        Edit(testDescription: "to nothing", after: "") { file throws(Errno) in try file.truncate(to: 0) },
        Edit(testDescription: "shorter, then longer", after: "01\0\0") { file throws(Errno) in
            try file.truncate(to: 2)
            try file.truncate(to: 4)
        },
        Edit(testDescription: "too long", error: .fileTooLarge, after: "0123456789") { file throws(Errno) in
            try file.truncate(to: 1 << 20 + 1)
        },
        Edit(testDescription: "negative", error: .invalidArgument, after: "0123456789") {
            file throws(Errno) in try file.truncate(to: -1)
        },
        Edit(testDescription: "allocated", after: "0123456789\0\0") { file throws(Errno) in
            try file.allocate(0, 4, 8)
        },
        Edit(testDescription: "allocated inside", after: "0123456789") { file throws(Errno) in
            try file.allocate(0, 4, 2)
        },
        Edit(testDescription: "allocated, size kept", after: "0123456789") { file throws(Errno) in
            try file.allocate(1, 4, 80)
        },
        Edit(testDescription: "a hole", after: "01\0\0\0" + "56789") { file throws(Errno) in
            try file.allocate(3, 2, 3)
        },
        Edit(testDescription: "a hole over the end", after: "01234567\0\0") { file throws(Errno) in
            try file.allocate(3, 8, 8)
        },
        Edit(testDescription: "zeroes that make it longer", after: "01234567\0\0\0\0") { file throws(Errno) in
            try file.allocate(16, 8, 4)
        },
        Edit(testDescription: "zeroes, size kept", after: "01234567\0\0") { file throws(Errno) in
            try file.allocate(17, 8, 4)
        },
        Edit(testDescription: "collapsed", error: .notSupportedOnSocket, after: "0123456789") {
            file throws(Errno) in try file.allocate(8, 0, 4)
        },
        Edit(testDescription: "allocated too far", error: .fileTooLarge, after: "0123456789") {
            file throws(Errno) in try file.allocate(0, .max, .max)
        },
        Edit(testDescription: "allocated nothing", error: .invalidArgument, after: "0123456789") {
            file throws(Errno) in try file.allocate(0, 0, 0)
        },
    ]

    @Test(arguments: edits)
    func anEditIsSavedByItsClose(_ edit: Edit) throws {
        try TestMount.with { mount in
            try mount.save("0123456789", "work/a")
            let file = try mount.open("work/a", edit.flags)
            #expect(mount.failure { () throws(Errno) in try edit.edit(file) } == edit.error)
            #expect(try file.text == edit.after)
            #expect(try file.attributes.size == Int64(edit.after.utf8.count))
            #expect(try mount.decrypt("work/a.gpg") == "0123456789", "nothing is saved before")
            try file.close()
            #expect(try mount.decrypt("work/a.gpg") == edit.after)
            #expect(try mount.size("work/a") == Int64(edit.after.utf8.count))
        }
    }

    /// Sizes and how often the file on disk is written are those of any number of bytes.
    @Test(arguments: [0, 1, 191, 192, 8383, 8384, 65_536, 1 << 20])
    func everySizeIsKnownAndRead(_ size: Int) throws {
        try TestMount.with { mount in
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            let file = try mount.open("work/a", O_RDWR | O_CREAT)
            for start in stride(from: 0, to: size, by: 1 << 17) {
                try file.write(Array(bytes[start..<min(size, start + 1 << 17)]), at: Int64(start))
            }
            try file.synchronize()
            try file.close()
            #expect(try mount.size("work/a") == Int64(size), "predicted from the packets")
            let again = try mount.open("work/a", O_RDONLY)
            #expect(try again.read() == bytes)
            #expect(try again.read(at: Int64(size)).isEmpty && again.read(at: .max).isEmpty)
            #expect(try again.read(at: Int64(size / 2), count: 3) == Array(bytes[(size / 2)...].prefix(3)))
            #expect(try again.attributes.size == Int64(size))
            again.release()
        }
    }

    /// A message that gpg has compressed tells its size only when it is opened.
    @Test func aSizeIsExactFromTheFirstOpenOn() throws {
        try TestMount.with { mount in
            let text = String(repeating: "the same again ", count: 1000)
            try mount.encrypt(text, "work/a.gpg", compresses: true)
            #expect(try mount.size("work/a") != 15_000)
            let file = try mount.open("work/a", O_RDONLY)
            #expect(try file.attributes.size == 15_000)
            #expect(try file.text == text)
            file.release()
        }
    }

    @Test func dataIsEverywhereUpToTheEnd() throws {
        try TestMount.with { mount in
            try mount.save("0123", "work/a")
            let file = try mount.open("work/a", O_RDONLY)
            func seek(_ offset: Int64, _ whence: Int32) -> Result<Int64, Errno> {
                Result { () throws(Errno) in
                    try mount.filesystem.seek(file.inode, handle: file.handle, offset: offset, whence: whence)
                }
            }
            #expect(seek(1, 3) == .success(1))
            #expect(seek(1, 4) == .success(4))
            #expect(seek(4, 3) == .failure(.noSuchAddressOrDevice))
            #expect(seek(-1, 3) == .failure(.noSuchAddressOrDevice))
            #expect(seek(1, 9) == .failure(.invalidArgument))
            file.release()
        }
    }

    @Test func whatIsUnlinkedWhileOpenGoesOnAndIsSavedNowhere() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/a")
            let file = try mount.open("work/a")
            try mount.unlink("work/a")
            #expect(try mount.onDisk() == [])
            try file.write("new")
            #expect(try file.text == "new")
            #expect(try file.attributes.linkCount == 0)
            try mount.save("another", "work/a")
            try file.close()
            #expect(try mount.read("work/a") == "another")
        }
    }

    /// A file that was made and not written yet is in the listing, and is saved empty by its close.
    @Test func anEmptyFileIsSavedByItsClose() throws {
        try TestMount.with { mount in
            let file = try mount.open("work/a", O_WRONLY | O_CREAT)
            #expect(try mount.names() == ["a"] && mount.onDisk() == [])
            #expect(try mount.attribute("state", of: "work/a") == "unsaved")
            try file.close()
            #expect(try mount.decrypt("work/a.gpg") == "")
            #expect(try mount.attribute("state", of: "work/a") == "saved")
        }
    }

    /// A probe for whether files can be made reaches no disk.
    @Test func aProbeThatStaysEmptyIsNotSaved() throws {
        try TestMount.with { mount in
            let file = try mount.open("work/4913", O_WRONLY | O_CREAT)
            try file.close()
            try mount.unlink("work/4913")
            #expect(try mount.onDisk() == [] && mount.changes == [])
            try mount.save("written", "work/4913")
            #expect(try mount.onDisk() == ["4913.gpg"])
        }
    }

    /// Unspecified by POSIX, and what Linux does: O_TRUNC empties also what is opened for reading only.
    @Test func whatIsTruncatedForReadingIsOnDiskAtOnce() throws {
        try TestMount.with { mount in
            try mount.save("x", "work/a")
            let file = try mount.open("work/a", O_RDONLY | O_TRUNC)
            #expect(try mount.decrypt("work/a.gpg").isEmpty)
            try file.close()
            #expect(try mount.read("work/a").isEmpty)
        }
    }

    /// flock(1) makes a file by opening it for reading: nobody will flush that.
    @Test func whatIsMadeForReadingIsOnDiskAtOnce() throws {
        try TestMount.with { mount in
            let file = try mount.open("work/a", O_RDONLY | O_CREAT)
            #expect(try mount.onDisk() == ["a.gpg"])
            file.release()
        }
    }

    @Test func twoWhoHaveItOpenSeeOneContent() throws {
        try TestMount.with { mount in
            try mount.save("0123", "work/a")
            let one = try mount.open("work/a")
            let other = try mount.open("work/a", O_RDWR | O_APPEND)
            try one.write("ab")
            try other.write("cd")
            #expect(try one.text == "ab23cd" && other.text == "ab23cd")
            try one.close()
            #expect(try mount.decrypt("work/a.gpg") == "ab23cd")
            try other.close()
        }
    }

    /// Each save is one change for the committer, and a file that is only read is none.
    @Test func changesAreTold() throws {
        try TestMount.with { mount in
            try mount.save("1", "work/a")
            _ = try mount.read("work/a")
            try mount.rename("work/a", "work/b")
            try mount.unlink("work/b")
            #expect(
                mount.changes == [
                    .saved("a.gpg"), .renamed(from: "a.gpg", to: "b.gpg"), .removed("b.gpg"),
                ])
        }
    }

    /// What somebody else has saved since it was opened is kept beside.
    @Test func aSaveKeepsTheOtherVersion() throws {
        try TestMount.with { mount in
            try mount.save("old", "work/a")
            let file = try mount.open("work/a")
            try mount.encrypt("theirs", "work/a.gpg")
            try file.write("mine")
            try file.close()
            let names = try mount.names()
            #expect(names.count == 2 && names.first == "a" && names.last?.hasPrefix("a.conflict-") == true)
            #expect(try mount.read("work/a") == "mine")
            #expect(try mount.read("work/" + (names.last ?? "")) == "theirs")
        }
    }

    /// Who opens a secret while it is saved, and others have it open, gets the old text or the new one: nothing but the mount has
    /// touched it.
    @Test func whatIsSavedMeanwhileIsNotStale() throws {
        try TestMount.with { mount in
            try mount.save("0", "work/a")
            let open = try mount.open("work/a", O_RDONLY)
            let failures = Mutex<[Errno]>([])
            let isOver = Atomic(false)
            let readers = try (0..<4).map { _ in
                try PosixThread(named: "reader") {
                    while !isOver.load(ordering: .relaxed) {
                        do throws(Errno) { _ = try mount.read("work/a") } catch {
                            failures.withLock { $0.append(error) }
                        }
                    }
                }
            }
            for number in 1...300 { try mount.save("\(number)", "work/a") }
            isOver.store(true, ordering: .relaxed)
            for reader in readers { reader.join() }
            #expect(failures.withLock { $0 } == [])
            #expect(try open.text == "300")
            try open.close()
        }
    }
}
