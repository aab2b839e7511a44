import Fuse
import Glibc
import Stores
import SystemPackage
import System

@testable import Fuse
@testable import Mount

/// A file that a test has open in a `TestMount`.
struct TestFile {
    let mount: TestMount
    let inode: InodeNumber
    let handle: HandleNumber

    var filesystem: StoreFilesystem { mount.filesystem }

    func write(_ text: String, at offset: Int64 = 0) throws(Errno) {
        try write(Array(text.utf8), at: offset)
    }

    func write(_ bytes: [UInt8], at offset: Int64 = 0) throws(Errno) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(Errno) in
                try filesystem.write(
                    inode, handle: handle, offset: offset, bytes: bytes, isFromPageCache: false)
            }
        }
        _ = try result.get()
    }

    func read(at offset: Int64 = 0, count: Int = 1 << 20) throws(Errno) -> [UInt8] {
        var read: [UInt8] = []
        try filesystem.read(inode, handle: handle, offset: offset, count: count) { read = Array($0) }
        return read
    }

    var text: String { get throws(Errno) { String(decoding: try read(), as: UTF8.self) } }

    /// What fstat(2) tells.
    var attributes: Attributes {
        get throws(Errno) { try filesystem.attributes(of: inode, handle: handle).0 }
    }

    func truncate(to size: Int64) throws(Errno) {
        var changes = AttributeChanges()
        changes.size = size
        _ = try filesystem.setAttributes(of: inode, handle: handle, changes, for: mount.caller)
    }

    func allocate(_ mode: Int32 = 0, _ offset: Int64, _ length: Int64) throws(Errno) {
        try filesystem.allocate(inode, handle: handle, mode: mode, offset: offset, length: length)
    }

    func synchronize() throws(Errno) {
        try filesystem.synchronize(inode, handle: handle, dataOnly: false)
    }

    /// close(2) of the last descriptor: its error is that of the save.
    func close() throws(Errno) {
        defer { release() }
        try filesystem.flush(inode, handle: handle, for: mount.caller)
    }

    /// The end of a program that was killed: nobody hears of an error.
    func release() {
        filesystem.release(inode, handle: handle, flags: OpenFlags(rawValue: 0))
        filesystem.forget(inode, count: 1)
    }
}

extension TestMount {
    /// Opens what was looked up before, as the kernel does that goes on with it; its release gives the look-up back.
    func open(_ entry: Entry, _ flags: Int32) throws(Errno) -> TestFile {
        let opened = try value(
            try filesystem.open(entry.inode, flags: OpenFlags(rawValue: flags), for: caller))
        return TestFile(mount: self, inode: entry.inode, handle: opened.handle)
    }

    /// Opens a file, or makes it with `O_CREAT`.
    func open(_ path: String, _ flags: Int32 = O_RDWR) throws(Errno) -> TestFile {
        let openFlags = OpenFlags(rawValue: flags & ~(O_CREAT))
        do throws(Errno) {
            let entry = try look(path)
            if flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL {
                forget(entry)
                throw .fileExists
            }
            do throws(Errno) {
                return try open(entry, openFlags.rawValue)
            } catch {
                forget(entry)
                throw error
            }
        } catch .noSuchFileOrDirectory where flags & O_CREAT != 0 {
            let (entry, opened) = try inFolder(path) { folder, name throws(Errno) in
                try value(
                    try filesystem.create(
                        in: folder, name: name, permissions: 0o600, flags: openFlags, for: caller))
            }
            return TestFile(mount: self, inode: entry.inode, handle: opened.handle)
        }
    }

    /// Waits for a reply.
    func value<Value>(_ reply: Reply<Value>) throws(Errno) -> Value {
        switch reply {
        case .now(let value): return value
        case .later(let pending):
            let result = Monitor<Result<Value, Errno>?>(nil)
            pending.whenGiven { given in
                result.withLock { $0 = given }
                result.signal()
            }
            return try result.waiting { result, _ in result.map { .done($0) } ?? .wait(until: nil) }.get()
        }
    }

    /// open, write, close, as a shell's `>`.
    func save(_ text: String, _ path: String) throws(Errno) {
        let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC)
        do throws(Errno) {
            try file.write(text)
        } catch {
            file.release()
            throw error
        }
        try file.close()
    }

    func read(_ path: String) throws(Errno) -> String {
        let file = try open(path, O_RDONLY)
        defer { file.release() }
        return try file.text
    }

    /// The errno of what fails; nil when it doesn't.
    func failure<Value>(_ body: () throws(Errno) -> Value) -> Errno? {
        do throws(Errno) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }
}
