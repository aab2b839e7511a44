import Glibc
import Synchronization
import SystemPackage
import TestKit

/// An HTTP server on the loopback address that answers as a test tells it to, and remembers what it was asked.
final class HostileServer: Sendable {
    /// What came in.
    struct Request: Sendable {
        /// `GET`, `POST`, or what somebody sends who takes the answer before for the end.
        var method: String
        /// With the query.
        var path: String
        /// Names in lower case.
        var headers: [String: String]

        /// What the credentials were, in Base64; nil without any.
        var authorization: String? { headers["authorization"] }
    }

    /// A client that waits for an answer.
    struct Client: Sendable {
        let descriptor: CInt

        /// Sends; false when nobody listens any more.
        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        /// A whole answer.
        func answer(
            _ status: String, _ headers: [String] = [], type: String = "text/plain", _ body: [UInt8] = []
        ) {
            let head =
                ["HTTP/1.1 \(status)", "Content-Type: \(type)", "Content-Length: \(body.count)"] + headers
            send(head.joined(separator: "\r\n") + "\r\n\r\n")
            send(body)
        }

        /// Waits until the client has gone.
        func waitForEnd() {
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) > 0 {}
        }

        /// Waits a moment; false when the client has gone.
        func pause(_ milliseconds: CInt) -> Bool {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, milliseconds) == 0
        }
    }

    /// The port; the server is `127.0.0.1` and `localhost`.
    let port: UInt16
    private let listener: CInt
    private let seen = Mutex<[Request]>([])
    private let open = Mutex<(clients: Set<CInt>, total: Int)>(([], 0))

    /// Requests so far.
    var requests: [Request] { seen.withLock { $0 } }
    /// Connections so far, also those that asked for nothing.
    var connections: Int { open.withLock { $0.total } }
    /// `http://127.0.0.1:PORT`.
    var url: String { "http://127.0.0.1:\(port)" }

    /// Listens and answers every request with `answer`, which returns false to close the connection.
    init(_ answer: @escaping @Sendable (Request, Client) -> Bool) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw Errno(rawValue: errno) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.start { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else {
                    close(listener)
                    return
                }
                open.withLock {
                    $0.clients.insert(client)
                    $0.total += 1
                }
                Thread.start { [self] in
                    serve(client, answer)
                    open.withLock {
                        $0.clients.remove(client)
                        close(client)
                    }
                }
            }
        }
    }

    /// Ends it and every connection.
    func stop() {
        // The thread that accepts closes it.
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { for client in $0.clients { shutdown(client, Int32(SHUT_RDWR)) } }
    }

    private func serve(_ client: CInt, _ answer: (Request, Client) -> Bool) {
        var buffered: [UInt8] = []
        while let request = Self.read(client, &buffered) {
            seen.withLock { $0.append(request) }
            guard answer(request, Client(descriptor: client)) else { return }
        }
    }

    /// Reads a request and drops its body.
    private static func read(_ client: CInt, _ buffered: inout [UInt8]) -> Request? {
        func more() -> Bool {
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = recv(client, &chunk, chunk.count, 0)
            if count > 0 { buffered += chunk[..<count] }
            return count > 0
        }
        func end(of mark: [UInt8]) -> Int? {
            while true {
                if let found = buffered.firstRange(of: mark) { return found.upperBound }
                guard more() else { return nil }
            }
        }
        guard let head = end(of: [13, 10, 13, 10]) else { return nil }
        let lines = String(decoding: buffered[..<head], as: UTF8.self).split(separator: "\r\n")
        buffered.removeFirst(head)
        let words = (lines.first ?? "").split(separator: " ").map(String.init)
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " }) }
        }
        if let count = headers["content-length"].flatMap({ Int($0) }) {
            while buffered.count < count { guard more() else { return nil } }
            buffered.removeFirst(count)
        } else if headers["transfer-encoding"] == "chunked" {
            guard let last = end(of: Array("0\r\n\r\n".utf8)) else { return nil }
            buffered.removeFirst(last)
        }
        return Request(method: words.first ?? "", path: words.dropFirst().first ?? "", headers: headers)
    }
}

/// Pieces of git's protocol over HTTP (gitprotocol-http(5), gitprotocol-pack(5)).
enum Wire {
    static let commit = String(repeating: "1", count: 40)

    /// A pkt-line.
    static func line(_ text: String) -> [UInt8] { line(Array(text.utf8)) }

    static func line(_ bytes: [UInt8]) -> [UInt8] {
        let length = String(bytes.count + 4, radix: 16)
        return Array((String(repeating: "0", count: 4 - length.count) + length).utf8) + bytes
    }

    /// What `info/refs` answers for a service.
    static func advertisement(
        _ service: String, refs: [String] = ["refs/heads/main"],
        capabilities: String = "side-band-64k ofs-delta"
    ) -> [UInt8] {
        var bytes = line("# service=\(service)\n") + Array("0000".utf8)
        for (number, ref) in refs.enumerated() {
            bytes += line("\(commit) \(ref)" + (number == 0 ? "\0\(capabilities)\n" : "\n"))
        }
        return bytes + Array("0000".utf8)
    }

    /// The service that a path of `info/refs` asks for.
    static func service(_ path: String) -> String {
        path.contains("receive-pack") ? "git-receive-pack" : "git-upload-pack"
    }

    /// An answer to `git-upload-pack` with a pack in the first sideband.
    static func packAnswer(_ pack: [UInt8]) -> [UInt8] {
        var bytes = line("NAK\n")
        var rest = pack[...]
        while !rest.isEmpty {
            bytes += line([1] + rest.prefix(60000))
            rest = rest.dropFirst(60000)
        }
        return bytes + Array("0000".utf8)
    }

    /// The head of a pack with so many objects.
    static func packHead(_ count: UInt32) -> [UInt8] {
        Array("PACK".utf8) + [0, 0, 0, 2] + withUnsafeBytes(of: count.bigEndian) { Array($0) }
    }
}
