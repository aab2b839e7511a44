import Glibc
import System
import SystemPackage
import Testing

/// Files through a descriptor.
@Suite struct OwnedDescriptorTests {
    /// A folder that is gone at the end of its life.
    private final class Folder {
        let path: FilePath

        init() {
            var template = Array("/tmp/pd-XXXXXX".utf8CString)
            path = FilePath(platformString: mkdtemp(&template)!)
        }

        deinit {
            for name in DirectoryStream.names(in: path) { path.appending(name).unlink() }
            rmdir(path.string)
        }
    }

    private let folder = Folder()
    private var file: FilePath { folder.path.appending("file") }

    private func write(_ bytes: [UInt8]) throws {
        let made = try OwnedDescriptor(opening: file, O_CREAT | O_TRUNC | O_WRONLY, mode: 0o600)
        try made.writeAll(bytes)
        try made.synchronize()
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 100_000]) func whatIsWrittenIsRead(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try write(bytes)
        #expect(try OwnedDescriptor(opening: file, O_RDONLY).readAll() == bytes)
        #expect(try OwnedDescriptor(opening: file, O_RDONLY).readAll(atMost: count) == bytes)
        if count > 0 {
            #expect(throws: Errno.fileTooLarge) {
                try OwnedDescriptor(opening: file, O_RDONLY).readAll(atMost: count - 1)
            }
        }
    }

    /// What a file of /proc says of its size is nothing.
    @Test func whatSaysNoSizeIsReadWhole() throws {
        let bytes = try OwnedDescriptor(opening: "/proc/self/maps", O_RDONLY).readAll()
        #expect(bytes.count > 4096)
        #expect(throws: Errno.fileTooLarge) {
            try OwnedDescriptor(opening: "/proc/self/maps", O_RDONLY).readAll(atMost: 4096)
        }
    }

    /// Taken at its word, a sparse file would end this process.
    @Test func aFileLargerThanMemoryIsNotRead() throws {
        try write([1])
        truncate(file.string, 1 << 40)
        #expect(throws: Errno.fileTooLarge) { try OwnedDescriptor(opening: file, O_RDONLY).readAll() }
    }

    @Test func whatCannotBeOpenedSaysWhy() throws {
        #expect(throws: Errno.noSuchFileOrDirectory) {
            try OwnedDescriptor(opening: file, O_RDONLY).readAll()
        }
        #expect(file.facts() == nil)
        #expect(!file.unlink())
        #expect(throws: Errno.noSuchFileOrDirectory) { try file.rename(to: folder.path.appending("other")) }
    }

    @Test func foldersAreMadeAboveEachOther() throws {
        let deep = folder.path.pushing("a/b/c")
        try deep.makeFolders()
        try deep.makeFolders()
        #expect(deep.facts().map { $0.st_mode & 0o777 } == 0o700)
        for path in ["a/b/c", "a/b", "a"] { rmdir(folder.path.pushing(FilePath(path)).string) }
        try write([])
        #expect(throws: Errno.notDirectory) { try file.appending("below").makeFolders() }
    }

    /// No time is too long, or too short, to wait for.
    @Test func anyTimeCanBeWaitedFor() {
        for seconds in [-1e300, -5, 0, 1e300] {
            let time = MonotonicTime(secondsFromNow: seconds).systemTime
            #expect((0..<1_000_000_000).contains(time.tv_nsec))
            #expect(time.tv_sec >= MonotonicTime(secondsFromNow: 0).systemTime.tv_sec - 1)
        }
    }
}
