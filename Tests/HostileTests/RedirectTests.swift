import Glibc
import OpenPGP
import System
import SystemPackage
import TestKit
import Testing

@testable import Git
@testable import Stores

/// Servers that send a transfer elsewhere. What is kept for a store's server is told to nobody else.
@Suite struct RedirectTests {
    /// When a server redirects.
    enum Moment: String, Sendable, CaseIterable {
        /// At once, before it wants credentials.
        case first
        /// Once it has had them.
        case afterCredentials
        /// At the request behind the list of branches.
        case post
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var status: String
        var moment: Moment
        /// The name of the host that it redirects to; its port is another one always.
        var host: String
        var operation: TransferRequest.Operation
        var transport: Transport
        var testDescription: String { traits.joined(separator: " ") }
        var traits: [String] { ["\(transport)", "\(operation)", status, moment.rawValue, host] }
    }

    /// All of them in `scripts/soak servers`; in the suite as few as have each two traits together once.
    static let rows: [Row] = {
        guard Soak.count == nil else { return every }
        func pairs(_ row: Row) -> Set<[String]> {
            Set(row.traits.indices.flatMap { one in (0..<one).map { [row.traits[$0], row.traits[one]] } })
        }
        var missing = every.map(pairs).reduce(into: Set()) { $0.formUnion($1) }
        var chosen: [Row] = []
        while !missing.isEmpty {
            let scores = every.map { pairs($0).intersection(missing).count }
            guard let best = scores.indices.max(by: { scores[$0] < scores[$1] }) else { break }
            chosen.append(every[best])
            missing.subtract(pairs(every[best]))
        }
        return chosen
    }()

    private static let every: [Row] = ["301", "302", "303", "307", "308"].flatMap { status in
        Moment.allCases.flatMap { moment in
            ["127.0.0.1", "localhost"].flatMap { host in
                [Transport.libgit2, .git].flatMap { transport in
                    // Not each with each: the servers' part does not know the operation.
                    [TransferRequest.Operation.fetch, .push].filter {
                        $0 == .fetch || status == "307" || status == "302"
                    }.map {
                        Row(status: status, moment: moment, host: host, operation: $0, transport: transport)
                    }
                }
            }
        }
    }

    /// Holds:
    /// - Over HTTP, a store's credentials go only to the host and port of its URL.
    @Test(.slow, arguments: rows)
    func noCredentialLeavesTheServer(_ row: Row) throws {
        try TestHome.with { home in
            let thief = try HostileServer { request, client in
                guard request.authorization != nil else {
                    client.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
                    return true
                }
                client.answer("500 Thanks")
                return false
            }
            let elsewhere = "http://\(row.host):\(thief.port)"
            let server = try HostileServer { request, client in
                let redirect = {
                    client.answer("\(row.status) Moved", ["Location: \(elsewhere)\(request.path)"])
                }
                if row.moment == .first {
                    redirect()
                } else if request.authorization == nil {
                    client.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
                } else if row.moment == .afterCredentials || request.method == "POST" {
                    redirect()
                } else {
                    let service = Wire.service(request.path)
                    client.answer(
                        "200 OK", type: "application/x-\(service)-advertisement",
                        Wire.advertisement(
                            service,
                            refs: [service == "git-receive-pack" ? "refs/heads/other" : "refs/heads/main"],
                            capabilities: "report-status side-band-64k ofs-delta"))
                }
                return true
            }
            defer {
                thief.stop()
                server.stop()
            }
            let failure = try #require(
                try Self.transfer(row.operation, row.transport, server.url + "/x.git", home))
            #expect(
                failure.code == .redirected || row.moment == .post && row.transport == .git,
                "\(failure) \(server.requests)")
            #expect(thief.requests.filter { $0.authorization != nil }.isEmpty, "\(thief.requests)")
            #expect(thief.connections == 0, "\(failure)")
            if row.moment != .post, row.status != "303" || row.transport == .git {
                #expect(failure.message.contains("\(row.host)"), "\(failure)")
            }
            #expect(failure.message.contains("redirects") || row.moment == .post, "\(failure)")
            #expect(!server.requests.isEmpty)
        }
    }

    /// Another path at the same server is the same server: credentials go there.
    @Test(arguments: [Transport.libgit2, .git], ["relative", "absolute"])
    func aRedirectWithinTheServerIsFollowed(_ transport: Transport, _ form: String) throws {
        try TestHome.with { home in
            let server = try HostileServer { request, client in
                if request.path.hasPrefix("/old/") {
                    let place = request.path.replacing("/old/", with: "/new.git/")
                    let host = form == "relative" ? "" : "http://" + (request.headers["host"] ?? "")
                    client.answer("301 Moved", ["Location: \(host)\(place)"])
                } else if request.authorization == nil {
                    client.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
                } else {
                    client.answer("404 Not Found")
                }
                return true
            }
            defer { server.stop() }
            _ = try Self.transfer(.fetch, transport, server.url + "/old", home)
            #expect(
                server.requests.contains {
                    $0.path.hasPrefix("/new.git/info/refs") && $0.authorization != nil
                },
                "\(server.requests)")
        }
    }

    /// What is no place for a repository, and a circle.
    @Test(
        .slow,
        arguments: [Transport.libgit2, .git],
        [
            "file:///etc/passwd", "ext::sh -c id", "ssh://127.0.0.1/x", "gopher://127.0.0.1/",
            "//127.0.0.1:1/x", "", "/loop",
            "http://127.0.0.1:1@127.0.0.1:2/x/info/refs", "http://[::1]:1/x/info/refs", "http:///x",
            "https://127.0.0.1:1/x",
        ])
    func aRedirectToNowhereEndsInASentence(_ transport: Transport, _ location: String) throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.answer("302 Found", location.isEmpty ? [] : ["Location: \(location)"])
                return true
            }
            defer { server.stop() }
            let start = ContinuousClock.now
            let failure = try #require(try Self.transfer(.fetch, transport, server.url + "/x.git", home))
            #expect(!failure.message.isEmpty && !failure.message.contains("\n"))
            // libgit2 1.5 dies of a place that ends in /info/refs and has no query.
            #expect(!failure.message.contains("without a result"), "\(failure)")
            #expect(failure.code != .timedOut && ContinuousClock.now - start < .seconds(10), "\(failure)")
            #expect(server.requests.count < 60)
        }
    }

    /// git tells of headers in lines that any header can imitate. Letters that are longer in lower case make places
    /// in the one text others in the other.
    @Test(arguments: [String(repeating: "\u{23A}", count: 60), "x"])
    func aHeaderIsNoOtherHeader(_ filling: String) throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.answer(
                    "301 Moved",
                    ["X-A: \(filling) recv header: location: x/info/refs", "Location: ssh://127.0.0.1/x"])
                return true
            }
            defer { server.stop() }
            let failure = try #require(try Self.transfer(.fetch, .git, server.url + "/x.git", home))
            #expect(failure.message.contains("redirects to ssh://127.0.0.1/x"), "\(failure)")
        }
    }

    /// libgit2 1.5 dies of it: `store add` then ended with the number of a signal.
    @Test(.slow, arguments: ["/y.git/info/refs", "http://127.0.0.1:1/y.git/info/refs"])
    func aRedirectWithoutAQueryEndsNoClone(_ location: String) throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.answer("302 Found", ["Location: \(location)"])
                return true
            }
            defer { server.stop() }
            let result = try home.passdir("store", "add", "x", "--url", server.url + "/x.git")
            #expect(result.exitCode == 1)
            #expect(
                result.errors.contains("redirects to \(location), which passdir does not follow"), "\(result)"
            )
        }
    }

    /// As where that comes over TLS: git is asked then, which says what is wrong.
    @Test(arguments: [Transport.libgit2, .git])
    func aTransferThatDiesIsLeftToGit(_ transport: Transport) throws {
        try TestHome.with { home in
            try home.write("#!/bin/sh\nkill -SEGV $$\n", to: "dies")
            chmod(home.path("dies").string, 0o700)
            let process = TransferProcess(
                program: home.path("dies"), timeout: .seconds(20), credentials: nil, progress: { _ in })
            let request = TransferRequest(
                .fetch, repository: home.path("r"), remote: "origin", localRef: "refs/heads/main",
                remoteRef: "refs/heads/main", trackingRef: "refs/passdir/known", transport: transport)
            let failure = #expect(throws: TransferFailure.self) { try process.runBlocking(request) }
            #expect(failure?.code == (transport == .libgit2 ? .unsupported : .other))
        }
    }

    /// Holds:
    /// - Over HTTP, a store's credentials go only to the host and port of its URL.
    ///
    /// `store add --url`: the password that is typed goes to the server that was named, also where the redirect leads to
    /// the user's proxy, which is not asked for this server and to which the way is therefore open.
    @Test(arguments: [false, true]) func cloningFollowsNobodyElsewhere(toTheProxy: Bool) throws {
        try TestHome.with { home in
            let thief = try HostileServer { _, client in
                client.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
                return true
            }
            let server = try HostileServer { request, client in
                client.answer("302 Found", ["Location: http://127.0.0.1:\(thief.port)\(request.path)"])
                return true
            }
            defer {
                thief.stop()
                server.stop()
            }
            let result = try home.run(
                [
                    "passdir", "store", "add", "x", "--url", server.url + "/x.git", "--user-name", "u",
                    "--password-stdin",
                ], input: Array("secret\n".utf8),
                extra: toTheProxy
                    ? ["http_proxy": "http://127.0.0.1:\(thief.port)", "no_proxy": "127.0.0.1"] : [:])
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("redirects to 127.0.0.1:\(thief.port)"), "\(result.errors)")
            #expect(thief.requests.isEmpty, "\(thief.requests)")
            #expect(toTheProxy || thief.connections == 0)
            #expect(try home.passdir("store", "list").output.isEmpty)
        }
    }

    /// Through a proxy of the user's own, a redirect is refused as well: it is told in plain words whom to connect to.
    @Test func aProxyIsNoWayOut() throws {
        let boundary = try #require(
            ServerBoundary(
                "https://Store.test/x.git", proxies: ["proxy.test:3128", "http://u:p@other.test/"]))
        func mayAsk(_ lines: String..., of host: String = "proxy.test", _ port: String = "3128") -> Bool {
            var asked = ServerBoundary.Asked.nothing
            return lines.allSatisfy {
                Array("\($0)\r\nHost: x\r\n\r\n".utf8).withUnsafeBytes {
                    boundary.maySend($0, to: host, port, after: &asked)
                }
            }
        }
        #expect(boundary.mayConnect("store.test", "443") && boundary.mayConnect("STORE.TEST", "443"))
        #expect(boundary.mayConnect("proxy.test", "3128") && boundary.mayConnect("other.test", "80"))
        #expect(
            mayAsk("CONNECT store.test:443 HTTP/1.1")
                && mayAsk("CONNECT store.test:443 HTTP/1.1", "\u{16}TLS"))
        #expect(mayAsk("GET /x.git/info/refs HTTP/1.1", of: "store.test", "443"))
        #expect(mayAsk("GET https://store.test/x HTTP/1.1", "0000", "POST https://store.test/x HTTP/1.1"))
        for line in [
            "CONNECT store.test:8443 HTTP/1.1", "CONNECT evil.test:443 HTTP/1.1",
            "GET http://store.test/x HTTP/1.1", "POST https://evil.test/x HTTP/1.1",
            // The proxy itself is no server of the store's.
            "GET /x.git/info/refs HTTP/1.1", "POST /x HTTP/1.1", "0000", "\u{16}TLS",
        ] {
            #expect(!mayAsk(line), "\(line)")
        }
        #expect(!mayAsk("GET https://store.test/x HTTP/1.1", "GET /x HTTP/1.1"))
        #expect(boundary.refused != nil)
        for (host, port) in [("store.test", "80"), ("evil.test", "443"), ("127.0.0.1", "443"), ("", "443")] {
            #expect(!boundary.mayConnect(host, port))
        }
    }

    /// A transfer by the child process that committers start, with credentials for whoever asks; how it failed.
    static func transfer(
        _ operation: TransferRequest.Operation, _ transport: Transport, _ url: String, _ home: TestHome,
        _ configuration: [String: String] = [:], timeout: Duration = .seconds(8)
    ) throws -> TransferFailure? {
        try home.succeed(["git", "init", "-q", "r"])
        let repository = home.path("r")
        for (key, value) in [
            "remote.origin.url": url,
            "credential.helper": "!f() { echo username=u; echo password=secret; }; f",
        ].merging(configuration, uniquingKeysWith: { $1 }) {
            try home.succeed(["git", "config", key, value], in: repository)
        }
        try home.succeed(["git", "commit", "-q", "--allow-empty", "-m", "One"], in: repository)
        let process = TransferProcess(
            program: try TestHome.passdirBinary(), timeout: timeout,
            credentials: { request in
                guard request.attempt < 3 else { return nil }
                let secret = Array("secret".utf8).withUnsafeBytes { try? SecretBytes(copying: $0) }
                guard let secret else { return nil }
                return .password(username: "u", LentSecret { use in secret.withUnsafeBytes { use($0) } })
            }, progress: { _ in })
        let request = TransferRequest(
            operation, repository: repository.appending(".git"), remote: "origin",
            localRef: "refs/heads/main", remoteRef: "refs/heads/main", trackingRef: "refs/passdir/known",
            transport: transport)
        do throws(TransferFailure) {
            try process.runBlocking(request)
            return nil
        } catch {
            return error
        }
    }
}
