import Glibc
import Synchronization
import System
import SystemPackage
import Testing

@testable import Fuse

/// Mounting, unmounting, and why they fail.
@Suite(.timeLimit(.minutes(2)))
struct MountPointTests {
    private func code(
        mounting path: FilePath, options: SessionOptions = SessionOptions()
    ) -> MountError.Code? {
        do throws(MountError) {
            _ = try Session(
                mountPoint: path, filesystemName: "test", subtype: "passdirtest",
                filesystem: MemoryFilesystem(),
                options: options)
            return nil
        } catch {
            #expect(error.message.contains(path.string), "the sentence names the path: \(error)")
            return error.code
        }
    }

    @Test func theTableOfMountsIsParsedWithItsEscapes() {
        let table = #"""
            36 35 98:0 /mnt1 /mnt\0401\134x\012 rw,noatime master:1 shared:7 - ext3 /dev/root\040a rw,errors=continue
            37 35 0:57 / /home/u/pass rw,nosuid,nodev - fuse.passdir passdir rw,user_id=1000
            38 35 0:58 / /a-b - nonsense
            nonsense

            """#
        let mounts = Mountinfo.parse(Array(table.utf8))
        #expect(mounts.count == 2)
        #expect(mounts.first?.mountPoint == "/mnt 1\\x\n")
        #expect(mounts.first?.source == "/dev/root a")
        #expect(
            mounts.last
                == MountedFilesystem(
                    mountPoint: "/home/u/pass", device: "0:57", type: "fuse.passdir", source: "passdir"))
        #expect((try? Mountinfo.read())?.contains { $0.mountPoint == "/" } == true)
    }

    @Test func aMountPointThatCannotBeSaysWhy() throws {
        let directory = try makeTemporaryDirectory()
        defer { rmdir(directory.string) }
        #expect(code(mounting: directory.appending("none")) == .mountPointMissing)
        let file = directory.appending("file")
        try Client.write(file, [])
        defer { unlink(file.string) }
        #expect(code(mounting: file) == .notADirectory)
        var options = SessionOptions()
        options.refusesNonEmptyMountPoint = true
        #expect(code(mounting: directory, options: options) == .notEmpty)
        #expect(code(mounting: "/proc") == .alreadyMounted)
    }

    @Test func aBareDirectoryIsClosedAndGivenBack() throws {
        let directory = try makeTemporaryDirectory()
        defer { rmdir(directory.string) }
        chmod(directory.string, 0o755)
        func mode() -> mode_t { (directory.facts()?.st_mode ?? 0) & 0o7777 }
        for isMounted in [false, true, false] {
            let before = mode()
            let bare = try #require(BareDirectory(directory))
            bare.open()
            #expect(mode() & S_IWUSR != 0)
            if isMounted { bare.close() } else { bare.leave() }
            #expect(mode() == (isMounted ? 0o500 : before))
        }
        #expect(MountPoint.giveBack(directory, mode: 0o755))
        #expect(mode() == 0o755)
        let file = directory.appending("file")
        try Client.write(file, [])
        unlink(file.string)
        #expect(!MountPoint.giveBack("/proc", mode: 0o755))
    }

    @Test(.enabled(if: canMount)) func aMountIsSeenUsedAndUnmounted() async throws {
        try await TestMount.with { mount in
            let found = try #require(try MountPoint.mounted(at: mount.path))
            #expect(found.type == "fuse.passdirtest")
            #expect(found.source == "a,test\\with commas")
            let codes = try await onThread { () throws(MountError) -> [MountError.Code] in
                let isStale = MountPoint.isStale(mount.path)
                #expect(!isStale)
                #expect(try !MountPoint.mend(mount.path))
                return [code(mounting: mount.path)].compactMap { $0 }
            }
            #expect(codes == [.alreadyMounted])
            try await onThread {
                try Client.write(mount.file("a"), [1, 2])
                let file = try Client.open(mount.file("a"), O_RDONLY)
                defer { close(file) }
                do throws(MountError) {
                    try mount.session.unmount()
                    Issue.record("a mount in use is busy")
                } catch {
                    #expect(error.code == .busy)
                }
                try mount.session.unmount(lazily: true)
                #expect(try MountPoint.mounted(at: mount.path) == nil)
                // What is open stays usable, and the session serves it.
                var bytes: [UInt8] = [0, 0]
                #expect(read(file, &bytes, 2) == 2 && bytes == [1, 2])
                #expect(!mount.ended.wait(seconds: 0.1))
            }
            let hasEnded = try await onThread { mount.ended.wait(seconds: 20) }
            #expect(hasEnded)
            #expect {
                try mount.session.unmount()
            } throws: {
                ($0 as? MountError)?.code == .notMounted
            }
        }
    }

    @Test(.enabled(if: canMount)) func aStaleMountIsSeenAndMended() throws {
        let directory = try makeTemporaryDirectory()
        defer { rmdir(directory.string) }
        // As after SIGKILL: mounted, and the device is closed.
        let device = try Fusermount.mount(at: directory, options: ["fsname=test", "subtype=passdirtest"])
        #expect(fcntl(device.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        try device.close()
        #expect(MountPoint.isStale(directory))
        #expect(code(mounting: directory) == .stale)
        #expect(try MountPoint.mounted(at: directory)?.type == "fuse.passdirtest")
        #expect(try MountPoint.mend(directory))
        #expect(!MountPoint.isStale(directory))
        #expect(try MountPoint.mounted(at: directory) == nil)
    }

    @Test(.enabled(if: canMount)) func aStaleMountThatIsHeldIsMendedLazily() throws {
        let directory = try makeTemporaryDirectory()
        defer { rmdir(directory.string) }
        let device = try Fusermount.mount(at: directory, options: ["fsname=test", "subtype=passdirtest"])
        // O_PATH takes hold of the mount without asking the file system.
        let holder = try Client.open(directory, 0o10000000)
        defer { close(holder) }
        try device.close()
        #expect(try MountPoint.mend(directory))
        #expect(try MountPoint.mounted(at: directory) == nil)
    }

    @Test(.enabled(if: canMount)) func aSessionThatNeverRunsLeavesNoMount() throws {
        let directory = try makeTemporaryDirectory()
        defer { rmdir(directory.string) }
        var session: Session? = try Session(
            mountPoint: directory, filesystemName: "test", subtype: "passdirtest",
            filesystem: MemoryFilesystem())
        #expect(session != nil)
        #expect(try MountPoint.mounted(at: directory) != nil)
        session = nil
        #expect(try MountPoint.mounted(at: directory) == nil)
    }

    /// An abort is what an administrator does to a file system that hangs.
    @Test(.enabled(if: canMount && getuid() == 0)) func anAbortEndsTheSessionAndTheMount() async throws {
        try await TestMount.with { mount in
            let device = try #require(try MountPoint.mounted(at: mount.path)).device
            let minor = try #require(device.split(separator: ":").last)
            let control = try makeTemporaryDirectory()
            defer { rmdir(control.string) }
            try #require(Glibc.mount("none", control.string, "fusectl", 0, nil) == 0)
            defer { umount2(control.string, 2) }
            // An open that waits when the connection goes is told, and released.
            let isWaiting = Gate()
            let wasTold = Gate()
            mount.filesystem.onOpen.withLock {
                $0 = { caller, _ throws(Errno) in
                    caller.onInterrupt { wasTold.open() }
                    isWaiting.open()
                    wasTold.wait()
                }
            }
            try await onThread { try Client.write(mount.file("a"), [1]) }
            let reading = try Started { try? Client.read(mount.file("a")) }
            try await onThread {
                #expect(isWaiting.wait(seconds: 20))
                try Client.write(control.appending("\(minor)/abort"), [0x31], flags: 0)
                #expect(mount.ended.wait(seconds: 20))
                wasTold.open()
            }
            let opened = try await onThread { try reading.value() }
            #expect(opened == nil)
            #expect(try MountPoint.mounted(at: mount.path) == nil)
        }
    }
}
