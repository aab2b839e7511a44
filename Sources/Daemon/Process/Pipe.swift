import Glibc
import SystemPackage

/// A pipe that threads use to wake a poll(2): what is written means nothing, that something is there does.
final class Pipe: Sendable {
    /// The end that becomes readable after `signal()`.
    let reading: Int32
    private let writing: Int32

    init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A full pipe is signalled already, so a write that would block may be dropped.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        reading = ends[0]
        writing = ends[1]
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// Makes `reading` readable.
    func signal() {
        var byte: UInt8 = 1
        _ = write(writing, &byte, 1)
    }

    /// Takes what was signalled so far.
    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reading, &bytes, bytes.count) > 0 {}
    }
}
