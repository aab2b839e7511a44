import Glibc
import SystemPackage
import Testing

@testable import Fuse

/// What programs do with files, through the kernel and back.
@Suite(.timeLimit(.minutes(2)), .enabled(if: canMount))
struct ContentTests {
    private func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    @Test func whatIsWrittenIsRead() async throws {
        try await TestMount.with { mount in
            let bytes = pattern(1_000_003)
            let (read, size, empty) = try await onThread {
                try Client.write(mount.file("a"), bytes)
                try Client.write(mount.file("empty"), [])
                return (
                    try Client.read(mount.file("a")), try Client.status(mount.file("a")).st_size,
                    try Client.read(mount.file("empty"))
                )
            }
            #expect(read == bytes)
            #expect(size == 1_000_003)
            #expect(empty.isEmpty)
        }
    }

    @Test func filesAreTruncatedExtendedAndAllocated() async throws {
        try await TestMount.with { mount in
            try await onThread {
                let a = mount.file("a")
                try Client.write(a, Array("hello world".utf8))
                _ = try Client.check(truncate(a.string, 5))
                #expect(try Client.read(a) == Array("hello".utf8))
                let file = try Client.open(a, O_RDWR)
                _ = try Client.check(ftruncate(file, 7))
                _ = try Client.check(posix_fallocate(file, 0, 9))
                #expect(lseek(file, 2, 3) == 2, "SEEK_DATA")
                #expect(lseek(file, 2, 4) == 9, "SEEK_HOLE")
                #expect(fsync(file) == 0)
                #expect(fdatasync(file) == -1 && errno == EIO)
                close(file)
                #expect(try Client.read(a) == Array("hello\0\0\0\0".utf8))
                try Client.write(a, Array("x".utf8), flags: O_TRUNC)
                #expect(try Client.read(a) == Array("x".utf8))
            }
        }
    }

    @Test func namesAreMadeRenamedAndRemoved() async throws {
        try await TestMount.with { mount in
            try await onThread {
                _ = try Client.check(mkdir(mount.file("d").string, 0o700))
                try Client.write(mount.file("d/a"), [1])
                try Client.write(mount.file("b"), [2])
                #expect(rename(mount.file("d/a").string, mount.file("b").string) == 0)
                #expect(try Client.read(mount.file("b")) == [1])
                #expect(rmdir(mount.file("d").string) == 0)
                #expect(try Client.names(mount.path).sorted() == [".", "..", "b"])
                #expect(symlink("some/target", mount.file("s").string) == 0)
                var target = [CChar](repeating: 0, count: 100)
                #expect(readlink(mount.file("s").string, &target, 99) == 11)
                #expect(String(decoding: target.prefix(11).map { UInt8($0) }, as: UTF8.self) == "some/target")
                #expect(try Client.status(mount.file("s")).st_mode & S_IFMT == S_IFLNK)
                #expect(unlink(mount.file("b").string) == 0)
                #expect(throws: Errno.noSuchFileOrDirectory) { try Client.read(mount.file("b")) }
            }
        }
    }

    @Test func anUnlinkedFileLivesWhileItIsOpen() async throws {
        try await TestMount.with { mount in
            try await onThread {
                try Client.write(mount.file("a"), [1, 2, 3])
                let file = try Client.open(mount.file("a"), O_RDONLY)
                #expect(unlink(mount.file("a").string) == 0)
                var bytes: [UInt8] = [0, 0, 0]
                #expect(read(file, &bytes, 3) == 3)
                #expect(bytes == [1, 2, 3])
                var status = stat()
                #expect(fstat(file, &status) == 0 && status.st_nlink == 0)
                close(file)
            }
        }
    }

    @Test func attributesArriveAndChange() async throws {
        try await TestMount.with { mount in
            try await onThread {
                let a = mount.file("a")
                try Client.write(a, pattern(1025))
                #expect(chmod(a.string, 0o640) == 0)
                let times = [
                    timespec(tv_sec: 11, tv_nsec: 22), timespec(tv_sec: 1 << 33, tv_nsec: 999_999_999),
                ]
                #expect(utimensat(AT_FDCWD, a.string, times, 0) == 0)
                let status = try Client.status(a)
                #expect(status.st_mode == S_IFREG | 0o640)
                #expect(status.st_uid == getuid() && status.st_gid == getgid())
                #expect(status.st_size == 1025 && status.st_blocks == 3 && status.st_blksize == 4096)
                #expect(status.st_atim.tv_sec == 11 && status.st_atim.tv_nsec == 22)
                #expect(status.st_mtim.tv_sec == 1 << 33 && status.st_mtim.tv_nsec == 999_999_999)
                var statistics = statvfs()
                #expect(statvfs(mount.path.string, &statistics) == 0)
                #expect(statistics.f_blocks == 1000 && statistics.f_bavail == 500)
                #expect(statistics.f_namemax == 251)
            }
        }
    }

    @Test func extendedAttributesAreProbedReadAndListed() async throws {
        try await TestMount.with { mount in
            try await onThread {
                let a = mount.file("a").string
                try Client.write(mount.file("a"), [])
                #expect(Xattr.set(a, "user.one", "value", 5, 0) == 0)
                #expect(Xattr.set(a, "user.two", "", 0, 1) == 0)
                #expect(Xattr.set(a, "user.one", "v", 1, 1) == -1 && errno == EEXIST)
                #expect(Xattr.get(a, "user.one", nil, 0) == 5)
                var value = [UInt8](repeating: 0, count: 5)
                #expect(Xattr.get(a, "user.one", &value, 4) == -1 && errno == ERANGE)
                #expect(Xattr.get(a, "user.one", &value, 5) == 5 && value == Array("value".utf8))
                #expect(Xattr.get(a, "user.two", &value, 5) == 0)
                var names = [UInt8](repeating: 0, count: 18)
                #expect(Xattr.list(a, nil, 0) == 18)
                _ = names.withUnsafeMutableBytes { Xattr.list(a, $0.baseAddress, 18) }
                #expect(names == Array("user.one\0user.two\0".utf8))
                #expect(Xattr.remove(a, "user.one") == 0)
                #expect(Xattr.get(a, "user.one", nil, 0) == -1 && errno == ENODATA)
            }
        }
    }

    @Test func everyErrorReachesTheProgramAsItIs() async throws {
        try await TestMount.with { mount in
            try await onThread {
                for number in [EPERM, EIO, EACCES, ENOTDIR, EXDEV, ENOSPC, EROFS, ELOOP, EDQUOT, EKEYEXPIRED]
                {
                    #expect(throws: Errno(rawValue: number)) {
                        try Client.status(mount.file("errno-\(number)"))
                    }
                }
                _ = try Client.check(mkdir(mount.file("d").string, 0o700))
                try Client.write(mount.file("d/a"), [])
                #expect(rmdir(mount.file("d").string) == -1 && errno == ENOTEMPTY)
                #expect(link(mount.file("d/a").string, mount.file("l").string) == -1 && errno == EPERM)
                #expect(mkfifo(mount.file("p").string, 0o600) == -1 && errno == EPERM)
                #expect(throws: Errno.noSpace) { try Client.write(mount.file("unsavable"), [1]) }
            }
        }
    }

    @Test func aNameNeedNotBeUTF8() async throws {
        try await TestMount.with { mount in
            try await onThread {
                let bytes = Array(mount.path.string.utf8) + [0x2f, 0xff, 0xfe, 0x20, 0x0a, 0]
                let path = bytes.map { CChar(bitPattern: $0) }
                #expect(mkdir(path, 0o700) == 0)
                #expect(rmdir(path) == 0)
            }
        }
    }
}
