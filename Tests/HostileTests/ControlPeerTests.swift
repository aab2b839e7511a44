import Daemon
import Glibc
import SystemPackage
import TestKit
import Testing

/// Peers at the control socket that keep no rule. They are the same user's, as others are turned away; the daemon
/// nevertheless goes on, in bounded memory, and answers others within a second.
@Suite struct ControlPeerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var times = 1
        /// How many connections send it; none of them reads an answer.
        var connections = 1
    }

    private static func call(_ rest: String) -> [UInt8] {
        Array("{\"method\":\"org.passdir.Control.Status\"\(rest)}\0".utf8)
    }

    static let rows: [Row] = [
        Row(
            testDescription: "a message without end", bytes: Array(repeating: 0x61, count: 65536), times: 500),
        Row(testDescription: "blanks without end", bytes: Array(repeating: 0x20, count: 65536), times: 500),
        Row(testDescription: "60,000 brackets", bytes: Array(repeating: 0x5B, count: 60_000) + [0]),
        Row(
            testDescription: "60,000 brackets in a call",
            bytes: call(",\"parameters\":" + String(repeating: "[", count: 60_000))),
        Row(
            testDescription: "10,000 nested objects",
            bytes: Array(
                (String(repeating: "{\"a\":", count: 10_000) + "1" + String(repeating: "}", count: 10_000))
                    .utf8) + [0]),
        Row(testDescription: "a number beyond all", bytes: call(",\"parameters\":1e999999999"), times: 100),
        Row(
            testDescription: "60,000 digits",
            bytes: call(",\"oneway\":" + String(repeating: "9", count: 60_000))),
        Row(
            testDescription: "no UTF-8",
            bytes: Array("{\"method\":\"".utf8) + [0xFF, 0xC0, 0x80, 0x22, 0x7D, 0], times: 100),
        Row(testDescription: "half a character", bytes: Array("{\"method\":\"\\ud800\"}\0".utf8), times: 100),
        Row(
            testDescription: "keys twice",
            bytes: call(",\"method\":\"org.passdir.Control.Nothing\",\"method\":1"), times: 100),
        Row(testDescription: "empty messages", bytes: Array(repeating: 0, count: 60_000), times: 5),
        Row(
            testDescription: "more, without end", bytes: call(",\"more\":true"), times: 20_000,
            connections: 40),
        Row(
            testDescription: "upgrade, without end", bytes: call(",\"upgrade\":true"), times: 5000,
            connections: 40),
        Row(
            testDescription: "oneway, without end", bytes: call(",\"oneway\":true"), times: 5000,
            connections: 40),
        Row(testDescription: "answers that nobody reads", bytes: call(""), times: 20_000, connections: 40),
        Row(
            testDescription: "half a call, then silence", bytes: Array("{\"method\":\"org".utf8),
            connections: 200),
        Row(testDescription: "silence", bytes: [], connections: 200),
    ]

    /// Holds:
    /// - Programs of the same user cannot block the control socket by flooding it or by silence.
    @Test(.slow) func theDaemonGoesOn() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("one", recipients: [key])
            try home.addStores([store])
            let daemon = try home.mount()
            let socket = home.path("run/passdir/control")
            let client = ControlClient(socket: socket)
            for row in Self.rows {
                let peers = (0..<row.connections).map { _ in Peer(socket) }
                for peer in peers { peer.flood(row.bytes, row.times) }
                #expect(throws: Never.self, "\(row)") { _ = try client.status(limit: .seconds(10)) }
                #expect(try Self.memory(of: daemon) < 200 << 20, "\(row)")
            }
            // Each comes and goes; nobody else waits.
            for _ in 0..<10_000 { _ = Peer(socket) }
            _ = try client.status(limit: .seconds(10))
            #expect(try Self.memory(of: daemon) < 200 << 20)
            #expect(try home.succeed(["ls", home.mountPoint.string]) == Array("one\n".utf8))
            try home.unmount()
        }
    }

    /// A runtime folder that is somebody else's, and a socket that somebody put there.
    @Test(.enabled(if: geteuid() == 0, "only root can become somebody else"))
    func foreignPlacesAreRefused() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            try home.addStores([try home.makeStore("one", recipients: [key])])
            let folder = home.path("run/passdir")
            try home.succeed(["mkdir", "-p", folder.string])
            try #require(chown(folder.string, 65534, 65534) == 0)
            let refused = try home.passdir("mount", home.mountPoint.string)
            #expect(
                refused.exitCode == 1 && refused.errors.contains("belongs to another user"),
                "\(refused.errors)")
            try #require(chown(folder.string, 0, 0) == 0 && chmod(folder.string, 0o777) == 0)
            try home.succeed(["ln", "-s", "/etc/passwd", folder.appending("control").string])
            let link = try home.passdir("mount", home.mountPoint.string)
            #expect(link.exitCode == 1 && link.errors.contains("in the way"), "\(link.errors)")
            var facts = stat()
            #expect(stat(folder.string, &facts) == 0 && facts.st_mode & 0o077 == 0)
        }
    }

    private static func memory(of pid: pid_t) throws -> Int {
        let text = try String(decoding: TestHome.read(FilePath("/proc/\(pid)/statm")), as: UTF8.self)
        return (Int(text.split(separator: " ")[1]) ?? 0) * Int(getpagesize())
    }
}

/// A connection that sends what a test likes and reads nothing.
private final class Peer {
    private let descriptor: CInt

    init(_ path: FilePath) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.string.utf8)) }
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    deinit { close(descriptor) }

    /// Sends until all is sent, nobody listens or nobody takes more.
    func flood(_ bytes: [UInt8], _ times: Int) {
        for _ in 0..<times {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            guard count == bytes.count else { return }
        }
    }
}

extension TestHome {
    /// A file that tells no size, as those of /proc.
    fileprivate static func read(_ path: FilePath) throws -> [UInt8] {
        let file = try FileDescriptor.open(path, .readOnly)
        return try file.closeAfter {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
            return Array(bytes[..<count])
        }
    }
}
