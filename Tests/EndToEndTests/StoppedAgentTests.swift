import Glibc
import SystemPackage
import TestKit
import Testing

/// Commands beside a gpg-agent that does not answer.
@Suite struct StoppedAgentTests {
    /// It is asked once, for a minute, and not for each key and each store. Nothing is said of keys that nobody could ask for.
    ///
    /// Holds:
    /// - A command whose gpg-agent does not answer asks it once, and says so and how to end it; it claims nothing of the keys.
    @Test(.slow) func aCommandAsksAStoppedAgentOnce() throws {
        try TestHome.guarded { home in
            let keys = try ["a@example.org", "b@example.org"].map { try home.makeKey($0) }
            for name in ["one", "two"] {
                try home.addStores([try home.makeStore(name, recipients: keys)])
            }
            let new = try home.makeStore("new", recipients: keys)
            let answer = String(
                decoding: try home.succeed(["gpg-connect-agent", "--no-autostart", "GETINFO pid", "/bye"]),
                as: UTF8.self)
            let agent = try #require(answer.split(separator: "\n").first.flatMap { pid_t($0.dropFirst(2)) })
            kill(agent, SIGSTOP)
            defer { kill(agent, SIGCONT) }
            let silence =
                "gpg-agent does not answer: 'pkill -KILL gpg-agent' ends it, and gpg starts another one\n"
            let commands: [(words: String, prefix: String, status: Int32)] = [
                ("keys", "passdir: ", 1), ("keys --json", "passdir: ", 1),
                ("recipients show one", "passdir: ", 1),
                ("store add new --path \(new.path.string)", "passdir: warning: ", 0),
            ]
            let programs = try commands.map {
                try home.start(["passdir"] + $0.words.split(separator: " ").map(String.init))
            }
            for (program, command) in zip(programs, commands) {
                let ended = try program.wait(limit: .seconds(100))
                #expect(!ended.timedOut && ended.exitCode == command.status, "\(command.words)")
                #expect(ended.errors == command.prefix + silence, "\(command.words)")
                #expect(!ended.output.contains("example.org"), "\(command.words): \(ended.output)")
            }
        }
    }
}
