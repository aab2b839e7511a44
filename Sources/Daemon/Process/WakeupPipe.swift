import Glibc
import System
import SystemPackage

/// A pipe that threads use to wake a poll(2): what is written means nothing, that something is there does.
final class WakeupPipe: Sendable {
    /// A full pipe is signalled already, so a write that would block may be dropped.
    private let pipe: Pipe

    /// The end that becomes readable after `signal()`.
    var reading: Int32 { pipe.reading.raw }

    init() throws(Errno) {
        pipe = try Pipe(blocks: false)
    }

    /// Makes `reading` readable.
    func signal() {
        var byte: UInt8 = 1
        _ = write(pipe.writing.raw, &byte, 1)
    }

    /// Takes what was signalled so far.
    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reading, &bytes, bytes.count) > 0 {}
    }
}
