public import Glibc
public import SystemPackage

/// poll(2) with a deadline; a signal does not end the wait.
public enum Poll {
    /// Waits until one of its events, a hang-up or an error is there at one of the descriptors; its entry says which.
    ///
    /// - Parameter deadline: nil waits for ever.
    /// - Returns: false when the deadline came.
    public static func wait(
        for entries: inout [pollfd], until deadline: ContinuousClock.Instant?
    ) throws(Errno) -> Bool {
        while true {
            let left = deadline.map { $0 - .now }
            if let left, left <= .zero { return false }
            let count = poll(&entries, nfds_t(entries.count), left.map(milliseconds) ?? -1)
            if count > 0 { return true }
            if count < 0, errno != EINTR { throw .last }
        }
    }

    /// As above, for an event (POLLIN, POLLOUT) of one descriptor.
    public static func wait(
        for event: CInt, on descriptor: CInt, until deadline: ContinuousClock.Instant?
    ) throws(Errno) -> Bool {
        var entries = [pollfd(fd: descriptor, events: Int16(event), revents: 0)]
        return try wait(for: &entries, until: deadline)
    }

    /// Whether a descriptor has an error or a hang-up, at this moment.
    public static func isOver(_ descriptor: CInt) -> Bool { isThere(0, descriptor) }

    /// Whether a descriptor can be read, at this moment.
    public static func isReadable(_ descriptor: CInt) -> Bool { isThere(POLLIN, descriptor) }

    private static func isThere(_ event: CInt, _ descriptor: CInt) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    /// Rounded up: a rest below a millisecond must not become a busy loop.
    private static func milliseconds(_ time: Duration) -> CInt {
        guard time < .seconds(1 << 20) else { return 1 << 30 }
        return CInt(
            clamping: time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000 + 1
        )
    }
}
