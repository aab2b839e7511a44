import CLinux
import Glibc
import SystemPackage

/// An eventfd: any thread can wake the one thread that polls it.
final class Wakeup: Sendable {
    let descriptor: Int32

    init() throws(OpenPGPError) {
        descriptor = eventfd(0, Int32(bitPattern: UInt32(O_CLOEXEC | O_NONBLOCK)))
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            throw OpenPGPError(.init(error), "cannot create an event descriptor: \(error)")
        }
    }

    deinit { close(descriptor) }

    /// Wakes the poller, now or when it polls next.
    func wake() {
        var one: UInt64 = 1
        // A full counter already wakes; there is no other failure.
        _ = Glibc.write(descriptor, &one, 8)
    }

    /// Takes back what woke.
    func drain() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }
}
