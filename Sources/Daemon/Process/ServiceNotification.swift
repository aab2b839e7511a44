import CLinux
import Glibc

/// Tells the service manager how the daemon is doing: sd_notify(3), one datagram to `$NOTIFY_SOCKET`.
///
/// Without that variable nothing is sent. What fails is not an error: nobody but the manager misses it.
public struct ServiceNotification: Sendable {
    private let address: String?

    /// Takes the socket's name from the daemon's environment: a path, or `@` and an abstract name.
    public init(environment: [String: String]) {
        address = environment["NOTIFY_SOCKET"]
    }

    /// The mount answers (`READY=1`).
    public func ready() {
        send("READY=1")
    }

    /// The daemon is ending (`STOPPING=1`).
    public func stopping() {
        send("STOPPING=1")
    }

    /// One line that `systemctl status` shows (`STATUS=`).
    public func status(_ line: String) {
        send("STATUS=" + line.split(whereSeparator: \.isNewline).joined(separator: " "))
    }

    private func send(_ text: String) {
        guard let address, address.hasPrefix("/") || address.hasPrefix("@") else { return }
        var socketAddress = sockaddr_un()
        socketAddress.sun_family = sa_family_t(AF_UNIX)
        var name = Array(address.utf8)
        guard name.count < MemoryLayout.size(ofValue: socketAddress.sun_path) else { return }
        // An abstract name begins with a NUL, and its length counts: it is not ended by one.
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: name) }
        let length = MemoryLayout<sa_family_t>.size + name.count
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        withUnsafePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0,
                    socklen_t(length))
            }
        }
    }
}
