import Glibc
import Synchronization
import System
import SystemPackage

@testable import Daemon

/// A service whose answers a test chooses; the daemon's place in these tests.
final class ChosenService: ControlService {
    let report: StatusReport
    private let failure: ControlError?
    private let calls = Mutex<[Bool]>([])
    private let gate: (@Sendable () -> Void)?

    /// - Parameters:
    ///   - failure: what `unmount` throws.
    ///   - gate: what `unmount` waits for.
    init(report: StatusReport = .sample, failure: ControlError? = nil, gate: (@Sendable () -> Void)? = nil) {
        self.report = report
        self.failure = failure
        self.gate = gate
    }

    /// The `discardUnsaved` of every unmount so far.
    var unmounts: [Bool] { calls.withLock { $0 } }

    func status() -> StatusReport { report }

    func reload(pushing: String?, reopening: String?) throws(ControlError) {
        if let failure { throw failure }
    }

    func unmount(discardUnsaved: Bool) throws(ControlError) -> [String] {
        calls.withLock { $0.append(discardUnsaved) }
        gate?()
        if let failure { throw failure }
        return []
    }
}

extension StatusReport {
    /// One store with every value, one with none.
    static let sample = StatusReport(
        mount: MountReport(
            path: "/home/a/passdir", pid: 2_147_483_647, since: Timestamp(seconds: 1_700_000_000)),
        stores: [
            StoreReport(name: "bare", path: "/home/a/bare", state: .noCommits),
            StoreReport(
                name: "work", path: "/home/a/work", state: .failed, branch: "main", pendingChanges: 1,
                unpushedCommits: 2,
                lastCommit: CommitReport(id: "ab12", subject: "Add \"x\"", time: Timestamp(seconds: 0)),
                lastPush: Timestamp(seconds: 60), lastError: "no route to host",
                unsaved: [UnsavedReport(path: "a/b", error: "no key", since: Timestamp(seconds: 61))]),
        ])
}

/// A connection that sends what a test likes, right or wrong.
final class RawConnection: Sendable {
    private let descriptor: Int32

    init(to socket: FilePath) throws {
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socket.string.utf8)) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw Errno(rawValue: errno) }
        // No test waits longer than this for an answer.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Sends a message and reads the reply.
    func ask(_ message: String) -> String? {
        send(Array(message.utf8) + [0])
        return receive()
    }

    /// Whether a message comes, or the server closes, within a time.
    func isReadable(within limit: Duration) -> Bool {
        (try? Poll.wait(for: POLLIN, on: descriptor, until: .now + limit)) == true
    }

    /// The next message; nil when the server closed (or is silent for 10 s).
    func receive() -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1 {
            guard byte != 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
