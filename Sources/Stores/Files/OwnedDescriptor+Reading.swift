import Glibc
public import System
public import SystemPackage

extension OwnedDescriptor {
    /// fstat(2).
    func status() throws(Errno) -> FileStatus {
        FileStatus(try facts())
    }

    /// All bytes of a regular file with its facts after the last byte was read.
    func readAll(limit: Int) throws(Errno) -> (bytes: [UInt8], status: FileStatus) {
        let before = try status()
        guard before.kind == .regular else {
            throw before.kind == .directory ? .isDirectory : .invalidArgument
        }
        guard before.identity.size <= Int64(limit) else { throw .fileTooLarge }
        let expected = Int(before.identity.size)
        var filled = 0
        var failure: Errno?
        // One byte more than expected, so that a file that grew is noticed.
        let bytes = [UInt8](unsafeUninitializedCapacity: expected + 1) { buffer, count in
            while filled < buffer.count {
                let got = pread(raw, buffer.baseAddress! + filled, buffer.count - filled, off_t(filled))
                if got < 0 {
                    if errno == EINTR { continue }
                    failure = .last
                    break
                }
                if got == 0 { break }
                filled += got
            }
            count = filled
        }
        if let failure { throw failure }
        guard bytes.count <= limit else { throw .fileTooLarge }
        return (bytes, try status())
    }

    /// Up to `count` bytes from `offset`; fewer at the end of the file.
    public func read(at offset: Int64, count: Int) throws(Errno) -> [UInt8] {
        var result = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            repeat {
                result = pread(raw, buffer.baseAddress!, count, off_t(offset))
            } while result < 0 && errno == EINTR
            initialized = max(result, 0)
        }
        guard result >= 0 else { throw Errno.last }
        return bytes
    }

    /// Writes all bytes, sets the times that are given and waits until all is on the disk.
    func writeDurably(_ bytes: [UInt8], accessed: FileTime?, modified: FileTime?) throws(Errno) {
        try writeAll(bytes)
        if accessed != nil || modified != nil {
            let times = [timespec(settingTo: accessed), timespec(settingTo: modified)]
            guard futimens(raw, times) == 0 else { throw Errno.last }
        }
        try synchronize()
    }
}
