import Git
import Glibc
import System
import SystemPackage

/// The SSH host keys of a store's remote: what the server shows, and what `~/.ssh/known_hosts` holds.
public struct HostKeys: Sendable {
    /// The server's name.
    public let host: String
    /// Its port.
    public let port: Int

    /// The server of a store's remote.
    public init(of store: Store) throws(TransferFailure) {
        let url: String?
        do throws(GitError) {
            let repository = try store.repositories.own()
            let remote = try repository?.onlyRemote()
            url = remote.flatMap { repository?.url(ofRemote: $0) }
        } catch {
            throw TransferFailure(code: .other, message: "\(error.message)")
        }
        try self.init(url: url, of: "the remote of the store \"\(store.name)\"")
    }

    /// The server of a URL that no store has yet.
    public init(url: String) throws(TransferFailure) {
        try self.init(url: url, of: "this URL")
    }

    /// - Parameter name: what the URL is, as the start of a sentence.
    private init(url: String?, of name: String) throws(TransferFailure) {
        if let url, let objection = RemoteURL.objection(to: url) {
            throw TransferFailure(code: .other, message: "\(name) cannot be used because \(objection)")
        }
        guard let url, let (host, port) = Self.server(of: url) else {
            throw TransferFailure(code: .other, message: "\(name) is not reached over SSH")
        }
        (self.host, self.port) = (host, port)
    }

    /// `ssh://user@host:port/path` or `user@host:path`.
    static func server(of url: String) -> (String, Int)? {
        var rest = Substring(url)
        let isURL = rest.hasPrefix("ssh://")
        if isURL { rest = rest.dropFirst(6) } else if url.contains("://") || url.hasPrefix("/") { return nil }
        if let at = rest.prefix(while: { $0 != "/" }).lastIndex(of: "@") {
            rest = rest[rest.index(after: at)...]
        }
        var host = rest.prefix { $0 != "/" && $0 != ":" }
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<end]
        }
        guard !host.isEmpty else { return nil }
        let after = rest.dropFirst(rest.hasPrefix("[") ? host.count + 2 : host.count)
        if isURL, after.hasPrefix(":"), let port = Int(after.dropFirst().prefix { $0.isNumber }) {
            return (String(host), port)
        }
        return isURL || after.hasPrefix(":") ? (String(host), 22) : nil
    }

    /// How known_hosts names the server.
    static func name(_ host: String, _ port: Int) -> String { port == 22 ? host : "[\(host)]:\(port)" }

    /// The lines that the server shows now, in the form of known_hosts, and their fingerprints.
    public func shown() throws(TransferFailure) -> (lines: [String], fingerprints: [String]) {
        var lines: [String] = []
        // A busy server drops connections.
        for _ in 0..<3 where lines.isEmpty {
            let scan = try run(["ssh-keyscan", "-T", "10", "-p", "\(port)", "--", host])
            lines = String(decoding: scan.output, as: UTF8.self).split(separator: "\n").map(String.init)
                .filter { !$0.hasPrefix("#") }
        }
        guard !lines.isEmpty else {
            throw TransferFailure(code: .other, message: "\(host) offers no SSH host key on port \(port)")
        }
        let text = Array((lines.joined(separator: "\n") + "\n").utf8)
        let printed = try run(["ssh-keygen", "-l", "-f", "-"], input: text)
        let fingerprints = String(decoding: printed.output, as: UTF8.self).split(separator: "\n").map {
            line in
            let words = line.split(separator: " ")
            return words.count > 2 ? "\(words[1]) \(words[words.count - 1])" : String(line)
        }
        return (lines, fingerprints)
    }

    /// Whether known_hosts has a key of the server already.
    public var isKnown: Bool { HostTrust.isKnown(Self.name(host, port)) }

    /// Writes lines to the end of `~/.ssh/known_hosts`.
    public func trust(_ lines: [String]) throws(TransferFailure) {
        let folder = FilePath(getenv("HOME").map { String(cString: $0) } ?? "/").appending(".ssh")
        _ = try? folder.makeFolder()
        do {
            let file = try FileDescriptor.open(
                folder.appending("known_hosts"), .writeOnly, options: [.create, .append, .closeOnExec],
                permissions: [.ownerReadWrite])
            try file.closeAfter { _ = try file.writeAll((lines.joined(separator: "\n") + "\n").utf8) }
        } catch {
            throw TransferFailure(
                code: .other, message: "cannot write \(folder.appending("known_hosts")): \(error)")
        }
    }

    private func run(_ words: [String], input: [UInt8] = []) throws(TransferFailure) -> ChildProcess.Outcome {
        return try rethrowing(
            ChildProcess.run(
                words, environment: ProcessEnvironment.forGit, input: input, timeout: .seconds(30))
        ) { (error: Errno) in
            TransferFailure(code: .other, message: "cannot start \(words[0]): \(error)")
        }
    }
}
