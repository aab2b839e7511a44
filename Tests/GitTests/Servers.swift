import CGit
import Glibc
import SystemPackage
import Testing

/// A listening TCP socket on a free port of the loopback address.
struct Listener: ~Copyable {
    let socket: Int32
    let port: UInt16

    init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Listener.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.bind(socket, pointer, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, pointer, &length) == 0
            }
        }
        guard bound else {
            close(socket)
            throw Errno(rawValue: errno)
        }
        self.socket = socket
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    /// Whether somebody listens on the port.
    static func answers(_ port: UInt16) -> Bool {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

/// `git daemon` for everything in a test's folder, with pushes allowed.
final class GitDaemon {
    let port: UInt16
    private let server: Server

    init(_ folder: TestFolder) throws {
        let free = try Listener().port
        port = free
        // The daemon itself, not `git daemon`: that one's child would outlive it and be reaped by nobody here.
        let programs = try folder.run(["git", "--exec-path"]).text.split(separator: "\n").first ?? ""
        server = try Server(
            folder, "daemon",
            [
                "\(programs)/git-daemon", "--listen=127.0.0.1", "--port=\(free)", "--reuseaddr",
                "--export-all",
                "--enable=receive-pack", "--informative-errors", "--base-path=\(folder.path)",
                folder.path.string,
            ])
        Server.wait { Listener.answers(free) }
    }

    func url(_ path: String) -> String { "git://127.0.0.1:\(port)/\(path)" }
}

/// An HTTP server that answers every request in the same way: what a real one says to wrong credentials, or in trouble.
final class StubbornServer {
    let port: UInt16
    private let listener: Listener
    private var thread = pthread_t()

    private final class Job {
        let socket: Int32
        let answer: [UInt8]
        init(_ socket: Int32, _ answer: String) {
            self.socket = socket
            self.answer = Array(answer.utf8)
        }
    }

    init(_ answer: String) throws {
        listener = try Listener()
        port = listener.port
        let job = Unmanaged.passRetained(Job(dup(listener.socket), answer)).toOpaque()
        let code = pthread_create(&thread, nil, StubbornServer.serve, job)
        guard code == 0 else { throw Errno(rawValue: code) }
    }

    deinit {
        shutdown(listener.socket, Int32(SHUT_RDWR))
        pthread_join(thread, nil)
    }

    private static let serve: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { raw in
        let job = Unmanaged<Job>.fromOpaque(raw!).takeRetainedValue()
        while true {
            let client = accept(job.socket, nil, nil)
            if client < 0 { break }
            var limit = timeval(tv_sec: 5, tv_usec: 0)
            setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            // Requests of these tests have no body: one ends with an empty line.
            var request: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let got = read(client, &buffer, buffer.count)
                if got <= 0 { break }
                request += buffer[..<got]
                guard request.suffix(4) == [13, 10, 13, 10] else { continue }
                request = []
                _ = job.answer.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
            }
            close(client)
        }
        close(job.socket)
        return nil
    }
}
