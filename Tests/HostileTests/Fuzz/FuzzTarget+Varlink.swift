import FoundationEssentials
import Glibc
import Sync
import SystemPackage

@testable import Daemon

extension FuzzTarget {
    /// Calls and replies on the control socket.
    static let varlink = FuzzTarget(
        name: "varlink", most: 1 << 17,
        tokens: [
            "{", "}", "[", "]", "[[[[[[[[", "{\"a\":", ",", ":", "\"", "\\u0000", "\\ud800", "\\", "null",
            "true",
            "-0", "1e400", "\"method\":", "\"parameters\":", "\"org.passdir.Control.Status\"",
            "\"oneway\":true,",
            "\"upgrade\":true,", "\"more\":true,", "\0", "\"2025-11-20T22:38:00Z\"", "é", "\u{feff}",
        ],
        item: { envelope(&$0) },
        read: { input, random in try readMessages(input, &random) })

    private static let methods = [
        ("org.passdir.Control.Status", "{}"),
        ("org.passdir.Control.Unmount", #"{"discardUnsaved":true}"#),
        ("org.passdir.Control.Reload", #"{"settle":"work","reopen":null}"#),
        ("org.passdir.Control.Synchronize", #"{"stores":["work","home"]}"#),
        ("org.varlink.service.GetInfo", "{}"),
        ("org.varlink.service.GetInterfaceDescription", #"{"interface":"org.passdir.Control"}"#),
        ("org.example.None", "{}"), ("Status", "[]"),
    ]

    private static func envelope(_ random: inout FuzzRandom) -> [UInt8] {
        if random.once(in: 4), let report = try? VarlinkMessage.encode(VarlinkReply(parameters: report)) {
            return report
        }
        if random.once(in: 6) {
            return Array(#"{"error":"org.passdir.Control.Unsaved","parameters":{"paths":["a","b"]}}"#.utf8)
        }
        let (method, parameters) = random.pick(methods)
        let extra = random.pick(["", "", #","more":true"#, #","oneway":true"#, #","upgrade":false"#])
        return Array(#"{"method":"\#(method)","parameters":\#(parameters)\#(extra)}"#.utf8)
    }

    private static var report: StatusReport {
        StatusReport(
            mount: MountReport(
                path: "/home/ann/passwords", pid: 4711, since: Timestamp(seconds: 1_763_678_280)),
            stores: [])
    }

    private static func readMessages(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        let dispatch = ControlDispatch(service: FuzzService())
        if let reply = dispatch.reply(to: input.bytes) {
            try claim(isReply(reply), "no reply: \(String(decoding: reply, as: UTF8.self))")
        }
        // What a client makes of it.
        if let read = VarlinkMessage.decode(VarlinkParameters<StatusReport>.self, from: input.bytes) {
            let again = try VarlinkMessage.encode(VarlinkReply(parameters: read.parameters))
            let second = VarlinkMessage.decode(VarlinkParameters<StatusReport>.self, from: again)
            try claim(second?.parameters == read.parameters, "a report does not come back")
        }
        if random.once(in: 16) { try converse(input.bytes) }
    }

    private static func isReply(_ reply: [UInt8]) -> Bool {
        struct Reply: Decodable { let error: String? }
        return !reply.contains(0) && VarlinkMessage.decode(Reply.self, from: reply) != nil
    }

    /// The bytes come over a socket, as from any process of ours.
    private static func converse(_ bytes: [UInt8]) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw Errno(rawValue: errno)
        }
        defer { for end in ends { close(end) } }
        let sent = bytes.withUnsafeBytes {
            send(ends[0], $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
        shutdown(ends[0], Int32(SHUT_WR))
        var channel = MessageChannel(socket: ends[1], limit: 1024)
        var messages: [[UInt8]] = []
        receiving: while true {
            switch try channel.receive(until: .now + .seconds(5)) {
            case .message(let message): messages.append(message)
            case .end, .tooLong: break receiving
            case .timedOut: throw FuzzFinding("waits for a connection that has ended")
            }
        }
        let expected = bytes.prefix(max(0, sent)).split(separator: 0, omittingEmptySubsequences: false)
            .dropLast().prefix { $0.count <= 1024 }.map(Array.init)
        try claim(messages == expected, "\(messages.count) messages instead of \(expected.count)")
    }
}

/// Answers everything.
private struct FuzzService: ControlService {
    func status() -> StatusReport {
        StatusReport(mount: MountReport(path: "/", pid: 1, since: Timestamp(seconds: 0)), stores: [])
    }

    func unmount(discardUnsaved: Bool) throws(ControlError) -> [String] {
        if !discardUnsaved { throw .unsaved(["a"]) }
        return ["a: 1 commit is not pushed"]
    }

    func reload(pushing: String?, reopening: String?) throws(ControlError) {
        if pushing == nil { throw ControlError(.failed, "no") }
    }

    func synchronize(
        stores: [String]?, choosing choice: HistoryChoice?
    ) throws(ControlError) -> [SyncReport] { [] }
}
