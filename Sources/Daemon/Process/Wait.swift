import Glibc
import SystemPackage

/// poll(2) with a deadline, for one descriptor.
enum Wait {
    /// Waits until an event (POLLIN, POLLOUT), a hang-up or an error is there; false when the deadline came.
    static func until(
        _ event: Int32, on descriptor: Int32, deadline: ContinuousClock.Instant
    ) throws(Errno) -> Bool {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { return false }
            let milliseconds =
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            // Rounded up: a rest below a millisecond must not become a busy loop.
            let count = poll(&entry, 1, Int32(clamping: milliseconds + 1))
            if count > 0 { return true }
            if count < 0, errno != EINTR { throw Errno(rawValue: errno) }
        }
    }
}
