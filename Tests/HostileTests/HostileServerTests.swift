import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// A server that keeps no rule of HTTP or git. Each transfer ends in time with a sentence; nothing of it is left.
@Suite struct HostileServerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// To the list of branches; nil gives a good one.
        var list: (@Sendable (HostileServer.Client) -> Bool)?
        /// To the request behind it.
        var post: (@Sendable (HostileServer.Client) -> Bool)?

        init(
            _ name: String, list: (@Sendable (HostileServer.Client) -> Bool)? = nil,
            post: (@Sendable (HostileServer.Client) -> Bool)? = nil
        ) {
            (testDescription, self.list, self.post) = (name, list, post)
        }

        /// Bytes, then the end of the connection.
        static func raw(_ name: String, _ bytes: [UInt8]) -> Row {
            Row(
                name,
                list: { client in
                    client.send(bytes)
                    return false
                })
        }

        static func raw(_ name: String, _ text: String) -> Row { raw(name, Array(text.utf8)) }

        /// Bytes, and then others without end.
        static func endless(_ name: String, _ head: String, _ part: [UInt8]) -> Row {
            let block = Array(repeating: part, count: 1 + 65536 / part.count).flatMap(\.self)
            return Row(
                name,
                list: { client in
                    client.send(head)
                    while client.send(block) {}
                    return false
                })
        }

        /// A pack in answer to the request behind the list.
        static func pack(_ name: String, _ bytes: [UInt8]) -> Row {
            Row(
                name,
                post: { client in
                    client.answer(
                        "200 OK", type: "application/x-git-upload-pack-result", Wire.packAnswer(bytes))
                    return true
                })
        }
    }

    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
    private static let result = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\n"
    private static let good = Wire.advertisement("git-upload-pack")

    /// A zlib stream of zeros: an empty fixed block would do, but a bomb is one that goes on.
    private static let bomb: [UInt8] = [0xB5, 0x80, 0x80, 0x80, 0x40, 0x78, 0x9C, 0xEC, 0xC1, 0x01]

    static let rows: [Row] = [
        .raw("hangs up", ""), .raw("no HTTP", "\0\u{1}\u{2}nonsense\r\n\r\n"), .raw("HTTP/0.9", "hello"),
        .raw("status 999", "HTTP/1.1 999 \u{1B}[31m\r\nContent-Length: 0\r\n\r\n"),
        .raw("status beyond numbers", "HTTP/1.1 99999999999999999999 OK\r\n\r\n"),
        .raw(
            "length too long",
            head + "Content-Length: 99999999\r\n\r\n" + String(decoding: good, as: UTF8.self)),
        .raw("length too short", head + "Content-Length: 10\r\n\r\n" + String(decoding: good, as: UTF8.self)),
        .raw("negative length", head + "Content-Length: -1\r\n\r\n" + String(decoding: good, as: UTF8.self)),
        .raw("length beyond numbers", head + "Content-Length: 99999999999999999999999\r\n\r\nx"),
        .raw("two lengths", head + "Content-Length: 5\r\nContent-Length: 500\r\n\r\n0000x"),
        .raw(
            "length and chunks",
            head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0000x\r\n0\r\n\r\n"),
        .raw("chunk of nonsense", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n"),
        .raw("chunk beyond numbers", head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nxx\r\n"),
        .raw("wrong type", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<b>x\n"),
        .raw("no type", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n0000"),
        .raw(
            "407 of a server",
            "HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"),
        .raw("401 without a way", "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"),
        .raw(
            "401 for another way",
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Magic \u{7}\r\nContent-Length: 0\r\n\r\n"),
        Row(
            "401 for ever",
            list: { client in
                client.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
                return true
            }),
        Row(
            "never answers",
            list: { client in
                client.waitForEnd()
                return false
            }),
        Row(
            "a byte now and then",
            list: { client in
                for byte in Array((head + "\r\n").utf8) + Array(repeating: UInt8(ascii: "0"), count: 100_000)
                {
                    guard client.send([byte]), client.pause(50) else { return false }
                }
                return false
            }),
        .endless("endless head", head, Array("X-Y: \(String(repeating: "z", count: 1000))\r\n".utf8)),
        .endless("endless line of the head", head + "X: ", Array(repeating: UInt8(ascii: "a"), count: 1000)),
        .endless("endless nonsense", head + "\r\n", Array("zzzz".utf8)),
        .endless(
            "endless list", head + "\r\n001e# service=git-upload-pack\n0000",
            Wire.line("\(Wire.commit) refs/heads/x\n")),
        .endless(
            "endless list of long names", head + "\r\n001e# service=git-upload-pack\n0000",
            Wire.line("\(Wire.commit) refs/heads/\(String(repeating: "x", count: 60000))\n")),
        .endless("endless flushes", head + "\r\n001e# service=git-upload-pack\n0000", Array("0000".utf8)),
        .endless(
            "endless errors", head + "\r\n001e# service=git-upload-pack\n0000",
            Wire.line("ERR \u{1B}[31mno\n")),
        .endless("endless chunks", head + "Transfer-Encoding: chunked\r\n\r\n", Array("1\r\n0\r\n".utf8)),
        .endless(
            "endless page of an error", "HTTP/1.1 500 No\r\nContent-Type: text/html\r\n\r\n",
            Array("<b>no</b>".utf8)),
        .endless(
            "endless page with 401", "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n",
            Array("<b>no</b>".utf8)),
        Row(
            "pkt-line of length 1",
            list: { client in
                client.answer(
                    "200 OK", type: "application/x-git-upload-pack-advertisement", Array("0001".utf8))
                return true
            }),
        Row(
            "an error with escapes",
            list: { client in
                client.answer(
                    "200 OK", type: "application/x-git-upload-pack-advertisement",
                    Wire.line("# service=git-upload-pack\n") + Array("0000".utf8)
                        + Wire.line("ERR \u{1B}[2J\u{202E}" + String(repeating: "x", count: 60000)))
                return true
            }),
        Row(
            "names that lead out",
            list: { client in
                client.answer(
                    "200 OK", type: "application/x-git-upload-pack-advertisement",
                    Wire.advertisement(
                        "git-upload-pack",
                        refs: [
                            "HEAD", "refs/heads/../../../x", "refs/heads/\u{1B}[31m", "/etc/passwd",
                            "refs/heads/main.lock",
                            "refs/heads/main",
                        ], capabilities: "side-band-64k symref=HEAD:refs/heads/../../../../x agent=\u{1B}[31m"
                    ))
                return true
            }),
        Row(
            "100,000 branches",
            list: { client in
                client.answer(
                    "200 OK", type: "application/x-git-upload-pack-advertisement",
                    Wire.advertisement("git-upload-pack", refs: (0..<100_000).map { "refs/heads/b\($0)" }))
                return true
            }),
        Row(
            "refuses the request",
            post: { client in
                client.answer("403 Forbidden")
                return true
            }),
        Row(
            "wrong type of the pack",
            post: { client in
                client.answer("200 OK", type: "text/html", Array("<b>".utf8))
                return true
            }),
        Row(
            "endless words beside the pack",
            post: { client in
                client.send(result + "\r\n0008NAK\n")
                let words = Wire.line([2] + Array("\u{1B}[31mstill counting\r".utf8))
                let block = Array(repeating: words, count: 1000).flatMap(\.self)
                while client.send(block) {}
                return false
            }),
        Row(
            "endless NAK",
            post: { client in
                client.send(result + "\r\n")
                let block = Array(repeating: Array("0008NAK\n".utf8), count: 8000).flatMap(\.self)
                while client.send(block) {}
                return false
            }),
        Row(
            "never sends the pack",
            post: { client in
                client.send(result + "\r\n0008NAK\n")
                client.waitForEnd()
                return false
            }),
        .pack("no pack", Array("nonsense".utf8)),
        .pack("a pack of a version to come", Array("PACK".utf8) + [0, 0, 0, 99, 0, 0, 0, 1]),
        .pack("an empty pack", Wire.packHead(0) + Array(repeating: 0, count: 20)),
        .pack("a pack of 4,294,967,295 objects", Wire.packHead(.max) + Array(repeating: 0, count: 64)),
        .pack(
            "a pack with a wrong checksum",
            Wire.packHead(1) + [0x30, 0x78, 0x9C, 0x03, 0, 0, 0, 0, 1] + Array(repeating: 7, count: 20)),
        .pack(
            "an object that claims 2^60 bytes",
            Wire.packHead(1) + [0xBF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x78, 0x9C, 0x03, 0]
                + Array(repeating: 0, count: 40)),
        .pack("an object that is broken off", Wire.packHead(1) + bomb),
        .pack(
            "a delta to nothing",
            Wire.packHead(1) + [0x74] + Array(repeating: 0xEE, count: 20) + [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]
                + Array(repeating: 0, count: 20)),
    ]

    struct Case: Sendable, CustomTestStringConvertible {
        var row: Row
        var transport: Transport
        var testDescription: String { "\(transport): \(row)" }
    }

    /// Rows that the suite tries over git, too; all others differ in what libgit2 makes of them.
    private static let overGit: Set = [
        "hangs up", "length too long", "wrong type", "401 for ever", "never answers", "endless head",
        "endless list",
        "an error with escapes", "endless words beside the pack", "no pack",
    ]

    /// `PASSDIR_SOAK` says how often all rows are tried over both (`scripts/soak servers COUNT`).
    static let cases: [Case] = {
        guard let rounds = Soak.count else {
            return rows.map { Case(row: $0, transport: .libgit2) }
                + rows.filter { overGit.contains($0.testDescription) }.map { Case(row: $0, transport: .git) }
        }
        return (0..<rounds).flatMap { _ in
            rows.flatMap { row in [Transport.libgit2, .git].map { Case(row: row, transport: $0) } }
        }
    }()

    /// Only what never ends takes so long, whatever else the machine does: a transfer of these gets two seconds.
    private static let patience = Duration.seconds(300)

    /// Holds:
    /// - A hostile HTTP server can end a transfer with an error, and changes no branch.
    @Test(arguments: sampled(cases)) func aTransferEndsInTime(_ each: Case) throws {
        let row = each.row
        try TestHome.with { home in
            let server = try HostileServer { request, client in
                if request.method == "POST" { return row.post?(client) ?? false }
                if let list = row.list { return list(client) }
                client.answer("200 OK", type: "application/x-git-upload-pack-advertisement", Self.good)
                return true
            }
            defer { server.stop() }
            let transfer = Background {
                try RedirectTests.transfer(
                    .fetch, each.transport, server.url + "/x.git", home, ["protocol.version": "0"],
                    timeout: .seconds(2))
            }
            let failure = try #require(try transfer.value(within: Self.patience), "it does not end")
            // A list that is good but for what it lacks is no failure.
            #expect(failure != nil || ["endless flushes", "100,000 branches"].contains(row.testDescription))
            if let failure {
                #expect(!failure.message.isEmpty && !failure.message.contains { $0.isNewline }, "\(failure)")
                #expect(failure.message.utf8.count < 5000)
            }
            #expect(server.requests.count < 60, "\(server.requests.count) requests")
            // What was written lies in the repository; the branches are as they were.
            let refs = try home.succeed(["git", "for-each-ref", "--format=%(refname)"], in: home.path("r"))
            #expect(String(decoding: refs, as: UTF8.self) == "refs/heads/main\n")
            #expect(try home.run(["git", "fsck", "--no-dangling"], in: home.path("r")).exitCode == 0)
        }
    }
}
