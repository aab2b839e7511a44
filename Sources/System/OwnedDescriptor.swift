import CLinux
import Glibc
public import SystemPackage

/// An open file descriptor, closed at the end of its life.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, for system calls; valid while this lives.
    public let raw: CInt

    /// Takes over a descriptor; its maker has set O_CLOEXEC, as everybody here does.
    public init(_ raw: CInt) {
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// fsync(2): all that was written to the file, or made, renamed and removed in the folder, survives a power cut.
    ///
    /// A call on the whole: `fsync(OwnedDescriptor(opened).raw)` reaches a descriptor that is closed already, as the
    /// temporary ends with the read of its number.
    public borrowing func synchronize() throws(Errno) {
        guard fsync(raw) == 0 else { throw .last }
    }

    /// As `synchronize`, of a folder by its path, where it can be opened and its file system knows that.
    public static func synchronize(folder: FilePath) {
        let opened = folder.withPlatformString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard opened >= 0 else { return }
        try? OwnedDescriptor(opened).synchronize()
    }

    /// Gives the descriptor up: whoever gets it closes it.
    public consuming func release() -> CInt {
        let raw = raw
        discard self
        return raw
    }
}

/// A pipe, both ends of which are closed in programs that are started (O_CLOEXEC).
public struct Pipe: ~Copyable, Sendable {
    /// The end to read from.
    public let reading: OwnedDescriptor
    /// The end to write to.
    public let writing: OwnedDescriptor

    /// - Parameter blocks: whether reads wait for bytes and writes for room; else they fail with EAGAIN.
    /// - Throws: EMFILE and ENFILE when there are too many descriptors.
    public init(blocks: Bool = true) throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard passdir_pipe(&ends, O_CLOEXEC | (blocks ? 0 : O_NONBLOCK)) == 0 else { throw .last }
        reading = OwnedDescriptor(ends[0])
        writing = OwnedDescriptor(ends[1])
    }

    /// Closes the end to write to, and gives the other: it has an end when nobody else can write either.
    public consuming func takeReading() -> OwnedDescriptor { reading }

    /// Closes the end to read from, and gives the other.
    public consuming func takeWriting() -> OwnedDescriptor { writing }

    /// Gives both ends up: whoever gets them closes them.
    public consuming func release() -> (reading: CInt, writing: CInt) {
        (reading.release(), writing.release())
    }
}

extension Errno {
    /// The calling thread's errno.
    public static var last: Errno { Errno(rawValue: errno) }
}
