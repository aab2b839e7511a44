import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import OpenPGP

/// A gpg-agent that does not do what it should.
@Suite struct AgentFaultTests {
    private let home: TestHome
    private let engine: OpenPGPEngine
    private let message: [UInt8]

    init() throws {
        home = try TestHome()
        let key = try home.makeKey("Ann <ann@example.org>")
        engine = try home.engine
        message = try home.passEncrypt([1, 2, 3], to: [key.description])
        #expect(try isDirect())
    }

    /// Whether the bytes come without gpg.
    private func isDirect() throws -> Bool {
        try engine.decryptDirectly(message, DecryptionRequest(limit: 9))?.plaintext.array == [1, 2, 3]
    }

    private var agent: pid_t {
        get throws { try #require(try agentIfAny()) }
    }

    /// nil where what listens is none.
    private func agentIfAny() throws -> pid_t? {
        let said = try Program.run(
            "gpg-connect-agent", ["--homedir", home.path, "--no-autostart", "GETINFO pid", "/bye"])
        let line = String(decoding: said.output, as: UTF8.self).split(separator: "\n").first ?? ""
        return pid_t(line.dropFirst(2))
    }

    private func code(seconds: Int, _ cancellation: Cancellation? = nil) -> OpenPGPError.Code? {
        do throws(OpenPGPError) {
            let plaintext = try engine.decrypt(
                message, limit: 9, timeout: .seconds(seconds), cancellation: cancellation)
            #expect(plaintext.array == [1, 2, 3])
            return nil
        } catch { return error.code }
    }

    @Test func anAgentThatEndedIsStartedAnew() throws {
        defer { home.remove() }
        for signal in [SIGKILL, SIGTERM] {
            let process = try agent
            kill(process, signal)
            try wait { kill(process, 0) != 0 || isZombie(process) }
            #expect(code(seconds: 60) == nil)
            #expect(try isDirect())
        }
        try Program.run("gpgconf", ["--homedir", home.path, "--reload", "gpg-agent"])
        #expect(try isDirect())
    }

    /// In a container nobody may reap what lost its parent.
    private func isZombie(_ process: pid_t) -> Bool {
        let text = (try? File.read("/proc/\(process)/stat")) ?? []
        return String(decoding: text, as: UTF8.self).contains(") Z ")
    }

    @Test func anAgentThatIsStoppedEndsNoCallLate() throws {
        defer { home.remove() }
        let process = try agent
        kill(process, SIGSTOP)
        defer { kill(process, SIGCONT) }
        let start = ContinuousClock.now
        #expect(code(seconds: 2) == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(20))
        let cancellation = Cancellation()
        let ended = try Wakeups()
        let codes = Messages()
        for _ in 0..<6 {
            try PosixThread.start(named: "reader") {
                if code(seconds: 100, cancellation) == .canceled { codes.add([]) }
                ended.add()
            }
        }
        cancellation.cancel()
        #expect(ended.wait(for: 6, seconds: 20))
        #expect(codes.all.count == 6)
        kill(process, SIGCONT)
        #expect(code(seconds: 60) == nil)
        #expect(try isDirect())
    }

    @Test func aSocketThatIsNoneIsLeftToGpg() throws {
        defer { home.remove() }
        let gpg = OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)
        let socket = "\(home.path)/S.gpg-agent"
        kill(try agent, SIGKILL)
        unlink(socket)
        try File.write("no socket\n", to: socket)
        let ours = code(seconds: 60)
        unlink(socket)
        try File.write("no socket\n", to: socket)
        let theirs: OpenPGPError.Code?
        do throws(OpenPGPError) {
            _ = try gpg.decrypt(message, limit: 9, timeout: .seconds(60))
            theirs = nil
        } catch { theirs = error.code }
        #expect(ours == theirs)
        unlink(socket)
        #expect(code(seconds: 60) == nil)
        #expect(try isDirect())
    }

    /// A server that says what no agent says: what comes then is gpg's verdict, in time. gpg 2.2 starts an agent of its own
    /// in the place of some.
    @Test(
        arguments: sampled([
            "garbage\n", "OK\nD %zz\n", "OK\nERR x\n", "", "OK\n" + String(repeating: "x", count: 5000),
        ]))
    func aServerThatIsNoAgent(_ words: String) throws {
        defer { home.remove() }
        let path = "\(home.path)/S.gpg-agent"
        kill(try agent, SIGKILL)
        unlink(path)
        let server = try Server(path, words)
        defer { server.end() }
        let start = ContinuousClock.now
        _ = code(seconds: 5)
        #expect(ContinuousClock.now - start < .seconds(25))
        #expect(server.connections.value > 0)
        // An agent that gpg has started ends when its socket is gone, and takes away whatever lies in its place then.
        let own = try agentIfAny()
        unlink(path)
        if let own { try wait { kill(own, 0) != 0 || isZombie(own) } }
        #expect(code(seconds: 60) == nil)
        #expect(try isDirect())
    }

    @Test func twoHundredAtOnce() throws {
        defer { home.remove() }
        for isFresh in [false, true] {
            if isFresh { kill(try agent, SIGKILL) }
            let ended = try Wakeups()
            let right = Counter()
            for _ in 0..<200 {
                try PosixThread.start(named: "reader") {
                    if code(seconds: 120) == nil { right.add() }
                    ended.add()
                }
            }
            #expect(ended.wait(for: 200, seconds: 130))
            #expect(right.value == 200)
        }
    }

    @Test func theSocketMayBeElsewhere() throws {
        defer { home.remove() }
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let path = "\(home.path)/S.gpg-agent"
        try FilePath(path).rename(to: FilePath("\(folder.path)/socket"))
        try File.write("%Assuan%\nsocket=\(folder.path)/socket\n", to: path)
        #expect(try isDirect())
    }
}

/// Takes connections at a path, says the same to each, and closes it.
private final class Server: Sendable {
    let connections = Counter()
    private let descriptor: Int32

    init(_ path: String, _ words: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0, listen(descriptor, 16) == 0 else { throw Failed(description: "no server") }
        let bytes = Array(words.utf8)
        try PosixThread.start(named: "server") { [descriptor, connections] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { break }
                connections.add()
                _ = bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                close(client)
            }
            close(descriptor)
        }
    }

    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
