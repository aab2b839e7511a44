import Daemon
import Glibc
import SystemPackage
import TestKit
import Testing

@Suite struct ServiceNotificationTests {
    /// A socket as the service manager holds it; `@` for the abstract name space.
    private final class Manager: Sendable {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

        init(at name: String) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var bytes = Array(name.utf8)
            if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            guard code == 0 else { throw Errno(rawValue: errno) }
        }

        deinit { close(descriptor) }

        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 512)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    @Test(arguments: [false, true])
    func tellsTheManager(_ isAbstract: Bool) throws {
        try TestHome.with { home in
            let name = (isAbstract ? "@" : "") + home.path("notify").string
            let manager = try Manager(at: name)
            let notification = ServiceNotification(environment: ["NOTIFY_SOCKET": name])
            notification.ready()
            notification.status("two\nlines")
            notification.stopping()
            #expect(manager.next() == "READY=1")
            #expect(manager.next() == "STATUS=two lines")
            #expect(manager.next() == "STOPPING=1")
            #expect(manager.next() == nil)
        }
    }

    @Test(arguments: [nil, "", "relative", "/nonexistent/socket", "/" + String(repeating: "x", count: 200)])
    func isQuietWhereNobodyListens(_ address: String?) {
        let environment = address.map { ["NOTIFY_SOCKET": $0] } ?? [:]
        ServiceNotification(environment: environment).ready()
    }
}
