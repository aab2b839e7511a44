import CGit
import Glibc
import Synchronization

/// Keeps an HTTP transfer at the server that its URL names.
///
/// A server may redirect, and libgit2 sends the credentials that were meant for it to wherever it redirects: even when it is
/// told to follow no redirect, to every port of the same host name. So each connection that libgit2 makes is one of ours,
/// which is opened to the URL's host and port only, or to a proxy that the user configured, and through a proxy only for
/// that host and port. The same host over HTTPS, at its usual port, is the one step that is allowed: up.
final class ServerBoundary {
    /// A host in lower case and a port.
    struct Server: Hashable {
        var host: String
        var port: String

        init(_ host: String, _ port: String) {
            self.host = host.lowercased()
            self.port = port
        }

        var description: String { "\(host):\(port)" }
    }

    /// Before the first object comes what the server has: names and ids. More than this is no list of branches.
    static let preambleLimit = 64 << 20

    /// Between one object and the next: more than any secret, so that a server cannot talk on beside the pack.
    static let objectLimit = 256 << 20

    /// What a connection to a proxy has asked it for.
    enum Asked: Int32 {
        case nothing
        /// A page of the URL's server.
        case page
        /// A connection to the URL's server: whatever is sent from now on is for that one.
        case tunnel
    }

    private let allowed: Set<Server>
    private let proxies: Set<Server>
    /// Those that are spoken to over TLS, where nobody sees what is asked.
    private let sealedProxies: Set<Server>
    private var received = 0
    private var objects: Int?
    /// Where the server wanted to send us.
    private(set) var refused: String?
    /// The server talked without end.
    private(set) var isEndless = false

    /// The boundary of a URL; nil where it is not HTTP.
    init?(_ url: String, proxies: [String]) {
        guard let (scheme, server) = Self.server(of: url), scheme == "http" || scheme == "https" else {
            return nil
        }
        var allowed: Set = [server]
        if scheme == "http", server.port == "80" { allowed.insert(Server(server.host, "443")) }
        self.allowed = allowed
        let named = proxies.compactMap { Self.server(of: $0.contains("://") ? $0 : "http://" + $0) }
        self.proxies = Set(named.map(\.1))
        sealedProxies = Set(named.filter { $0.scheme == "https" }.map(\.1))
    }

    /// Holds for the connections that libgit2 makes on this thread while `body` runs.
    ///
    /// - Returns: what `body` returns, one of libgit2's codes; -1 without a call of it where nobody could watch.
    static func around(_ boundary: ServerBoundary?, _ body: () -> Int32) -> Int32 {
        guard let boundary else { return body() }
        guard isRegistered else {
            git_error_set_str(Int32(GIT_ERROR_NET.rawValue), "cannot monitor connections")
            return -1
        }
        let before = pthread_getspecific(key)
        pthread_setspecific(key, Unmanaged.passUnretained(boundary).toOpaque())
        defer { pthread_setspecific(key, before) }
        return withExtendedLifetime(boundary, body)
    }

    /// The boundary that holds on this thread.
    static var current: ServerBoundary? {
        pthread_getspecific(key).map { Unmanaged<ServerBoundary>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether a connection may be made.
    func mayConnect(_ host: String, _ port: String) -> Bool {
        let server = Server(host, port)
        if allowed.contains(server) || proxies.contains(server) { return true }
        refused = server.description
        return false
    }

    /// Whether bytes may be sent over a connection. A proxy is no server: it is asked for a page of the URL's server, or
    /// for a connection there, and for nothing of its own. A redirect to its port would be such a request.
    func maySend(
        _ bytes: UnsafeRawBufferPointer, to host: String, _ port: String, after asked: inout Asked
    ) -> Bool {
        let server = Server(host, port)
        if allowed.contains(server) || asked == .tunnel || sealedProxies.contains(server) { return true }
        let line = String(decoding: bytes.prefix(4096).prefix { $0 != 0x0D }, as: UTF8.self)
        let words = line.split(separator: " ")
        // Not a request's first line: what belongs to the one before.
        guard words.count == 3, words[2].hasPrefix("HTTP/1") else {
            if asked == .nothing { refused = server.description }
            return asked != .nothing
        }
        let isTunnel = words[0] == "CONNECT"
        let target = isTunnel ? "https://\(words[1])" : String(words[1])
        guard let (_, named) = Self.server(of: target), allowed.contains(named) else {
            refused = target.hasPrefix("/") ? server.description : target
            return false
        }
        asked = isTunnel ? .tunnel : .page
        return true
    }

    /// Notes how many objects have come, of how many: 0 before the pack begins.
    func note(objects: Int, of total: Int) {
        guard total > 0 else { return }
        if self.objects != objects { received = 0 }
        self.objects = objects
    }

    /// Counts what came; false when it is too much without anything that was asked for.
    func mayReceive(_ count: Int) -> Bool {
        received += count
        isEndless = isEndless || received > (objects == nil ? Self.preambleLimit : Self.objectLimit)
        return !isEndless
    }

    /// Whether libgit2 may see what came: it dies of a redirect to `…/info/refs` that leaves away the query (`strcmp` of
    /// NULL in libgit2 1.5 to 1.7). git does not follow such a redirect either.
    ///
    /// Under TLS, and where a server sends its headers in pieces, it is not seen: then the process of the transfer ends,
    /// and the git program takes over.
    func mayFollow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.starts(with: "HTTP/1.".utf8) else { return true }
        let lines = String(decoding: bytes.prefix(16 << 10), as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard let status = lines.first?.split(separator: " ").dropFirst().first, status.hasPrefix("3") else {
            return true
        }
        for line in lines.dropFirst().prefix(while: { !$0.isEmpty })
        where line.lowercased().hasPrefix("location:") {
            let place = line.dropFirst("location:".count).filter { $0 != " " && $0 != "\t" }
            if place.prefix(while: { $0 != "#" }).hasSuffix("/info/refs") {
                refused = GitError.cleaned(place)
                return false
            }
        }
        return true
    }

    /// Scheme, host and port of a URL.
    static func server(of url: String) -> (scheme: String, Server)? {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let scheme = url[..<mark.lowerBound].lowercased()
        var authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        var host = authority
        var port = authority.suffix(0)
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...].drop { $0 == ":" }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        guard !host.isEmpty else { return nil }
        let usual = scheme == "https" ? "443" : "80"
        return (scheme, Server(String(host), port.isEmpty ? usual : String(port)))
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Once in the process: from then on libgit2 opens no connection by itself. TLS lies upon such a connection.
    private static let isRegistered: Bool = {
        LibGit2.start()
        var registration = git_stream_registration()
        registration.version = GIT_STREAM_VERSION
        registration.`init` = { result, host, port in
            guard let result, let host, let port else { return -1 }
            if let boundary = ServerBoundary.current,
                !boundary.mayConnect(String(cString: host), String(cString: port))
            {
                git_error_set_str(Int32(GIT_ERROR_NET.rawValue), "the server redirects elsewhere")
                return -1
            }
            result.pointee = ServerConnection.make(host, port)
            return 0
        }
        return git_stream_register(GIT_STREAM_STANDARD, &registration) == 0
    }()
}
