import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// A home whose agent asks a shell script; what the script does stands in a file.
final class PinentryHome: Sendable {
    let home: TestHome
    let key: Fingerprint
    let message: [UInt8]
    /// The script writes its process id here when it was asked and won't answer.
    let asked: Int32

    static let shared = Result { try PinentryHome() }

    private init() throws {
        home = try TestHome(agent: "default-cache-ttl 0\nmax-cache-ttl 0")
        let path = home.path
        try File.write(
            "pinentry-program \(path)/pinentry\n"
                + "default-cache-ttl 0\nmax-cache-ttl 0\nallow-loopback-pinentry\ns2k-count 65536\n",
            to: "\(path)/gpg-agent.conf")
        let script = """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
                case "$line" in
                GETPIN*)
                    case "$(cat \(path)/mode)" in
                    right) echo "D sesame"; echo OK ;;
                    wrong) echo "D wrong"; echo OK ;;
                    gone) echo "ERR 83918929 No such file or directory <Pinentry>" ;;
                    notty) echo "ERR 83918950 Inappropriate ioctl for device <Pinentry>" ;;
                    cancel) echo "ERR 83886179 Operation cancelled <Pinentry>" ;;
                    silent) echo "$$" >\(path)/asked; exec sleep 300 ;;
                    esac ;;
                "GETINFO pid") echo "D $$"; echo OK ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done

            """
        try File.write(script, to: "\(path)/pinentry", mode: 0o700)
        mkfifo("\(path)/asked", 0o600)
        // Open for writing too, so that the script never blocks and the end of its writing is no end of the file.
        asked = open("\(path)/asked", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        try File.write("right", to: "\(path)/mode")
        key = try home.makeKey("Pat <pat@example.org>", passphrase: "sesame")
        message = try home.passEncrypt(Array("behind a passphrase".utf8), to: [key.description])
    }

    func mode(_ mode: String) throws { try File.write(mode, to: "\(home.path)/mode") }

    /// Waits until the script was asked; gives its process id.
    func waitForPrompt() throws -> pid_t {
        var poller = pollfd(fd: asked, events: Int16(POLLIN), revents: 0)
        guard poll(&poller, 1, 20_000) == 1 else { throw Failed(description: "no prompt came") }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(asked, &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: "\n").last ?? ""
        guard let process = pid_t(text) else { throw Failed(description: "no process id") }
        return process
    }

    /// Whether a prompt came that nobody has waited for yet.
    var hasPrompt: Bool {
        var poller = pollfd(fd: asked, events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, 0) == 1
    }

    /// The gpg processes that use this home.
    func gpgProcesses() throws -> [pid_t] {
        // A zombie has no arguments: in a container nobody may reap what lost its parent.
        let result = try Program.run("pgrep", ["-a", "-x", "gpg"])
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n")
            .filter { $0.contains("--homedir \(home.path)") }.compactMap {
                pid_t($0.split(separator: " ")[0])
            }
    }
}

/// Of gpg, which a message is left to where it is unusual; `DirectPromptTests` has the other way.
@Suite(.serialized) struct PinentryTests {
    let pinentry: PinentryHome
    let engine: OpenPGPEngine

    init() throws {
        pinentry = try PinentryHome.shared.get()
        engine = OpenPGPEngine(home: FilePath(pinentry.home.path), encryption: .gpg)
    }

    private func code(
        timeout: Duration? = .seconds(30), _ cancellation: Cancellation? = nil
    ) -> OpenPGPError.Code? {
        do throws(OpenPGPError) {
            let plaintext = try engine.decrypt(
                pinentry.message, limit: 1000, timeout: timeout, cancellation: cancellation)
            #expect(plaintext.array == Array("behind a passphrase".utf8))
            return nil
        } catch { return error.code }
    }

    @Test func theRightPassphrase() throws {
        try pinentry.mode("right")
        #expect(code() == nil)
    }

    @Test func theWrongPassphrase() throws {
        try pinentry.mode("wrong")
        #expect(code() == .badPassphrase)
    }

    @Test func aClosedPrompt() throws {
        try pinentry.mode("cancel")
        #expect(code() == .declined)
    }

    /// What pinentry-curses says in a daemon.
    @Test(arguments: ["notty", "gone"]) func noTerminal(_ answer: String) throws {
        try pinentry.mode(answer)
        #expect(code() == .noPinentry)
    }

    @Test func noPinentryProgram() throws {
        let home = try TestHome(agent: "pinentry-program /nonexistent/pinentry")
        defer { home.remove() }
        let key = try home.makeKey("Pat <pat@example.org>", passphrase: "sesame")
        try Program.run("gpgconf", ["--homedir", home.path, "--kill", "gpg-agent"])
        let message = try home.passEncrypt([1], to: [key.description])
        let engine = try home.engine
        let error = #expect(throws: OpenPGPError.self) { try engine.decrypt(message, limit: 10) }
        #expect(error?.code == .noPinentry)
        let signing = #expect(throws: OpenPGPError.self) { try engine.signDetached([1], by: key) }
        #expect(signing?.code == .noPinentry)
    }

    @Test func signingAsksAndCanBeCancelled() throws {
        try pinentry.mode("right")
        let signature = try engine.signDetached([1, 2], by: pinentry.key)
        #expect(try engine.verifyDetached(signature: signature, of: [1, 2]) == [pinentry.key])
        try pinentry.mode("cancel")
        let error = #expect(throws: OpenPGPError.self) { try engine.signDetached([1], by: pinentry.key) }
        #expect(error?.code == .declined)
    }

    @Test func cancellationWhileThePromptIsOpen() throws {
        try pinentry.mode("silent")
        let cancellation = Cancellation()
        let outcome = try inBackground {
            code(cancellation)
        } during: {
            let prompt = try pinentry.waitForPrompt()
            #expect(try !pinentry.gpgProcesses().isEmpty)
            let start = ContinuousClock.now
            cancellation.cancel()
            return (prompt, start)
        }
        #expect(outcome.answer == .canceled)
        // Nobody answers this prompt before its time is over, after thirty seconds.
        #expect(ContinuousClock.now - outcome.result.1 < .seconds(20))
        try expectNothingLeft(prompt: outcome.result.0)
        try pinentry.mode("right")
        #expect(code() == nil)
    }

    /// A gpg that blocks SIGTERM leaves its lock files when it is ended.
    @Test func gpgTakesSignalsThoughOurThreadsBlockThem() throws {
        try pinentry.mode("silent")
        let cancellation = Cancellation()
        let seen = try inBackground {
            code(cancellation)
        } during: {
            defer { cancellation.cancel() }
            let prompt = try pinentry.waitForPrompt()
            defer { kill(prompt, SIGTERM) }
            return try pinentry.gpgProcesses().map { process in
                String(decoding: try File.read("/proc/\(process)/status"), as: UTF8.self)
            }
        }
        #expect(seen.answer == .canceled)
        #expect(!seen.result.isEmpty)
        let blocked = seen.result.map { $0.split(separator: "\n").first { $0.hasPrefix("SigBlk:") } }
        #expect(blocked.allSatisfy { $0 == "SigBlk:\t0000000000000000" }, "\(blocked)")
    }

    @Test func timeOutWhileThePromptIsOpen() throws {
        try pinentry.mode("silent")
        // Where other programs are busy, the time may be over before the prompt is open: then more of it is given.
        for timeout in [700, 5_000, 20_000] {
            let start = ContinuousClock.now
            #expect(code(timeout: .milliseconds(timeout)) == .timedOut)
            #expect(ContinuousClock.now - start < .milliseconds(timeout) + .seconds(20))
            if pinentry.hasPrompt { break }
        }
        try expectNothingLeft(prompt: try pinentry.waitForPrompt())
        try pinentry.mode("right")
        #expect(code() == nil)
    }

    @Test func cancelledBeforeItBegan() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(code(cancellation) == .canceled)
    }

    /// Four prompts wait, and a fifth operation goes through: after a second the four give their places back.
    @Test func waitingPromptsBlockNobody() throws {
        try pinentry.mode("silent")
        let cancellation = Cancellation()
        let engine = engine
        let message = pinentry.message
        let ended = try Wakeups()
        for _ in 0..<4 {
            try PosixThread.start(named: "reader") {
                _ = try? engine.decrypt(
                    message, limit: 1000, timeout: .seconds(30), cancellation: cancellation)
                ended.add()
            }
        }
        let prompt = try pinentry.waitForPrompt()
        let start = ContinuousClock.now
        #expect(try engine.keys(matching: [], secretOnly: false).count == 1)
        #expect(ContinuousClock.now - start < .seconds(15))
        cancellation.cancel()
        #expect(ended.wait(for: 4, seconds: 10))
        // The agent still has the requests of the ended gpgs and asks for each in turn.
        try pinentry.mode("cancel")
        kill(prompt, SIGTERM)
        #expect(code() == .declined)
        try pinentry.mode("right")
        #expect(code() == nil)
    }

    /// gpg does not stay behind.
    private func expectNothingLeft(prompt: pid_t) throws {
        for _ in 0..<100 where try !pinentry.gpgProcesses().isEmpty { usleep(20_000) }
        #expect(try pinentry.gpgProcesses().isEmpty)
        // gpg-agent 2.2 leaves its prompt open until it is answered or pinentry's own time is over.
        kill(prompt, SIGTERM)
    }
}
