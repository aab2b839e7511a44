import SystemPackage
import TestKit
import Testing

@testable import Daemon

/// The protocol on the wire: https://varlink.org/Method-Call
@Suite struct VarlinkTests {
    private let dispatch = ControlDispatch(service: ChosenService())

    private func reply(_ message: String) -> String? {
        dispatch.reply(to: Array(message.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func invalid(_ parameter: String) -> String {
        #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"\#(parameter)"}}"#
    }

    @Test func statusReplyHasEveryKey() {
        #expect(
            reply(#"{"method":"org.passdir.Control.Status","parameters":{}}"#)
                == #"{"parameters":{"mount":{"path":"/home/a/passdir","pid":2147483647,"since":"2023-11-14T22:13:20Z"},"#
                + #""stores":[{"branch":null,"canSave":null,"lastCommit":null,"lastError":null,"#
                + #""lastPush":null,"name":"bare","#
                + #""path":"/home/a/bare","pendingChanges":0,"readOnly":false,"state":"noCommits","unpushedCommits":0,"unsaved":[]},"#
                + #"{"branch":"main","canSave":null,"lastCommit":{"id":"ab12","subject":"Add \"x\"","time":"1970-01-01T00:00:00Z"},"#
                + #""lastError":"no route to host","lastPush":"1970-01-01T00:01:00Z","name":"work","#
                + #""path":"/home/a/work","pendingChanges":1,"readOnly":false,"state":"failed","unpushedCommits":2,"#
                + #""unsaved":[{"error":"no key","path":"a/b","since":"1970-01-01T00:01:01Z"}]}]}}"#)
    }

    @Test(arguments: [
        #"{"method":"org.passdir.Control.AbortSave","parameters":{"store":"work"}}"#,
        #"{"method":"org.passdir.Control.Unmount"}"#,
        #"{"method":"org.passdir.Control.Unmount","parameters":{}}"#,
        #"{"method":"org.passdir.Control.Unmount","parameters":{"discardUnsaved":null}}"#,
        #"{"method":"org.passdir.Control.Unmount","parameters":{"discardUnsaved":true,"later":[1]},"more":true}"#,
    ])
    func goodCallsAreAnsweredOnce(_ call: String) {
        #expect(reply(call) == #"{"parameters":{}}"#)
    }

    /// As many brackets as fit in a call, on a plain thread as the server has them: the reader must not follow them all.
    ///
    /// Holds:
    /// - Deeply nested JSON on the control socket is refused.
    @Test(arguments: ["[", #"{"a":"#, #"{"method":"org.passdir.Control.Status","parameters":["#])
    func deepNestingIsRefused(_ start: String) throws {
        let brackets = start.hasSuffix("[") ? "[" : start
        let call = start + String(repeating: brackets, count: ControlServer.callLimit / brackets.utf8.count)
        let dispatch = dispatch
        let answer = Background {
            dispatch.reply(to: Array(call.utf8)).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try answer.value() == invalid("message"))
    }

    @Test func onewayGetsNoReplyNotEvenAnError() {
        #expect(reply(#"{"method":"org.passdir.Control.Status","oneway":true}"#) == nil)
        #expect(reply(#"{"method":"org.passdir.Control.Nothing","oneway":true}"#) == nil)
    }

    @Test(arguments: [
        ("", "message"), ("hello", "message"), ("{", "message"), ("[]", "message"), ("null", "message"),
        ("\u{0}", "message"), ("\u{FEFF}{}", "method"), ("{}", "method"), (#"{"method":1}"#, "method"),
        (#"{"method":null}"#, "method"),
        (#"{"method":"org.passdir.Control.Status","oneway":1}"#, "oneway, more or upgrade"),
        (#"{"method":"org.passdir.Control.Status","upgrade":true}"#, "upgrade"),
        (
            #"{"method":"org.passdir.Control.Unmount","parameters":{"discardUnsaved":"yes"}}"#,
            "discardUnsaved"
        ),
        (#"{"method":"org.passdir.Control.Unmount","parameters":[]}"#, "discardUnsaved"),
        (#"{"method":"org.passdir.Control.AbortSave"}"#, "store"),
        (#"{"method":"org.varlink.service.GetInterfaceDescription"}"#, "interface"),
    ])
    func malformedCallsAreInvalid(_ message: String, _ parameter: String) {
        #expect(reply(message) == invalid(parameter))
    }

    @Test func malformedBytesAreInvalid() {
        let deep = String(repeating: "[", count: 60_000)
        #expect(reply(deep) == invalid("message"))
        #expect(reply(#"{"method":"# + deep) == invalid("message"))
        for bytes: [UInt8] in [
            [0xFF, 0xFE], [0xFE, 0xFF, 0x00], [0x80], [0xED, 0xA0, 0x80], [0, 0, 0xFE, 0xFF],
        ] {
            let answer = dispatch.reply(to: bytes).map { String(decoding: $0, as: UTF8.self) }
            #expect(answer == invalid("message"))
        }
    }

    @Test(arguments: ["", ".", "Status", "org.passdir", "org.example.Foo.Bar", "org.passdir.control.Status"])
    func unknownInterfacesAreNamed(_ method: String) {
        #expect(reply(#"{"method":"\#(method)"}"#)?.contains("org.varlink.service.InterfaceNotFound") == true)
    }

    @Test func unknownMethodsAreNamed() {
        #expect(
            reply(#"{"method":"org.passdir.Control.Mount"}"#)
                == #"{"error":"org.varlink.service.MethodNotFound","#
                + #""parameters":{"method":"org.passdir.Control.Mount"}}"#)
    }

    @Test func theServiceDescribesItself() throws {
        let info = try #require(reply(#"{"method":"org.varlink.service.GetInfo"}"#))
        #expect(info.contains(#""interfaces":["org.varlink.service","org.passdir.Control"]"#))
        #expect(info.contains(#""version":"\#(Version.number)""#))
        for name in ["org.varlink.service", "org.passdir.Control"] {
            let call =
                #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"\#(name)"}}"#
            let text = try #require(reply(call))
            #expect(text.contains(#"interface \#(name)\n\n"#))
        }
    }

    @Test func theLineTellsWhenTheRemoteWasLastAsked() throws {
        var report = StatusReport.sample
        report.stores[0].lastFetch = Timestamp(seconds: 1)
        let json = try StatusJSON.line(report)
        #expect(json.contains(#""lastFetch":"1970-01-01T00:00:01Z""#), "\(json)")
    }

    @Test func theDescriptionNamesEveryKeyAndState() throws {
        let text = try #require(ControlInterface.descriptions["org.passdir.Control"])
        let json = try StatusJSON.line(.sample)
        for key in json.split(separator: "\"") where json.contains("\"\(key)\":") {
            #expect(text.contains("\(key): "), "\(key)")
        }
        for state in StoreState.allCases { #expect(text.contains(state.rawValue)) }
    }

    @Test func messagesArriveInPiecesAndTogether() throws {
        try TestHome.with { home in
            let socket = home.path("run/control")
            let server = try ControlServer(socket: socket, service: ChosenService())
            try server.start()
            defer { server.stop() }
            let connection = try RawConnection(to: socket)
            let call = Array(#"{"method":"org.passdir.Control.Unmount"}"#.utf8) + [0]
            for byte in call { connection.send([byte]) }
            #expect(connection.receive() == #"{"parameters":{}}"#)
            connection.send(call + call)
            #expect(connection.receive() == #"{"parameters":{}}"#)
            #expect(connection.receive() == #"{"parameters":{}}"#)
            #expect(connection.ask("garbage") == invalid("message"))
            #expect(connection.ask(#"{"method":"org.passdir.Control.Unmount"}"#) == #"{"parameters":{}}"#)
        }
    }

    @Test func aMessageTooLongIsRefusedAndTheConnectionClosed() throws {
        try TestHome.with { home in
            let socket = home.path("run/control")
            let server = try ControlServer(socket: socket, service: ChosenService())
            try server.start()
            defer { server.stop() }
            let connection = try RawConnection(to: socket)
            connection.send(Array(repeating: UInt8(ascii: " "), count: ControlServer.callLimit + 1))
            #expect(connection.receive() == invalid("message"))
            #expect(connection.receive() == nil)
            #expect(try ControlClient(socket: socket).status() == .sample)
        }
    }
}
