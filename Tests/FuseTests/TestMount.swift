import Glibc
import Synchronization
import System
import SystemPackage
import Testing

@testable import Fuse

/// Whether this user can mount at all; on some machines /dev/fuse is root's.
let canMount = access("/dev/fuse", R_OK | W_OK) == 0

/// Runs `body`, which may block, on a thread of its own, as a program that uses the mount would.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await PosixThread.run(named: "test") { Result { try body() } }.get()
}

/// What runs on a thread of its own from the start: a task would wait for Swift's shared threads, which other tests block.
final class Started<Value: Sendable>: Sendable {
    private let result = Monitor<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) throws {
        try PosixThread.start(named: "test") { [result] in
            let outcome = Result { try body() }
            result.withLock { $0 = outcome }
            result.broadcast()
        }
    }

    /// What came of it, when it has ended. Not from one of Swift's shared threads.
    func value() throws -> Value {
        try result.waiting { result, _ in result.map { .done($0) } ?? .wait(until: nil) }.get()
    }
}

/// A directory under /tmp.
func makeTemporaryDirectory() throws -> FilePath {
    var template = Array("/tmp/pd-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw Errno(rawValue: errno) }
    return FilePath(platformString: made)
}

/// Opened once, by the test or by its watchdog; threads wait for it.
final class Gate: Sendable {
    private let isOpen = Monitor(false)

    func open() {
        isOpen.withLock { $0 = true }
        isOpen.broadcast()
    }

    func wait() { isOpen.waiting { isOpen, _ in isOpen ? .done(()) : .wait(until: nil) } }

    /// False when it stayed closed for so long.
    func wait(seconds: Double) -> Bool {
        let deadline = MonotonicTime(secondsFromNow: seconds)
        return isOpen.waiting { isOpen, timeIsOver in
            isOpen || timeIsOver ? .done(isOpen) : .wait(until: deadline)
        }
    }
}

/// A file system mounted for a test, and served.
struct TestMount: Sendable {
    let session: Session
    let path: FilePath
    let filesystem: MemoryFilesystem
    /// Opened when the session has ended.
    let ended: Gate
    /// What a file system may wait on; opened at the end in any case.
    let release: Gate

    /// Mounts, runs `body` and unmounts, all of which must be over within a minute.
    static func with(
        _ filesystem: MemoryFilesystem = MemoryFilesystem(), options: SessionOptions = SessionOptions(),
        _ body: (TestMount) async throws -> Void
    ) async throws {
        let directory = try makeTemporaryDirectory()
        let session: Session
        do throws(MountError) {
            session = try Session(
                mountPoint: directory, filesystemName: "a,test\\with commas", subtype: "passdirtest",
                filesystem: filesystem, options: options)
        } catch {
            rmdir(directory.string)
            throw error
        }
        let mount = TestMount(
            session: session, path: directory, filesystem: filesystem, ended: Gate(), release: Gate())
        try PosixThread.start(named: "session") {
            session.run()
            mount.ended.open()
        }
        try PosixThread.start(named: "watchdog") {
            guard !mount.ended.wait(seconds: 60) else { return }
            mount.release.open()
            try? Fusermount.unmount(directory, lazily: true)
        }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(mount)) } catch { outcome = .failure(error) }
        mount.release.open()
        try? session.unmount(lazily: true)
        let hasEnded = try await onThread { mount.ended.wait(seconds: 20) }
        #expect(hasEnded, "the session ends after it was unmounted")
        #expect(try MountPoint.mounted(at: directory) == nil)
        #expect(filesystem.state.withLock { $0.isUnmounted })
        #expect(filesystem.state.withLock { $0.openHandles.isEmpty }, "every open was released")
        #expect(rmdir(directory.string) == 0)
        try outcome.get()
    }

    /// The path of a file in the mount.
    func file(_ name: String) -> FilePath { path.appending(name) }
}
