import SystemPackage
import TestKit
import Testing

/// Questions on the terminal: what counts as an answer, and what must be seen before.
@Suite struct AskingTests {
    private static let commands = [
        "recipients add work KEY", "recipients set work KEY", "recipients confirm work",
        "recipients check --fix work",
        "store remove work", "keys import FILE",
    ]

    /// A key that somebody else brought, a secret for one key too few.
    private func with(_ body: (SharedStore, (String) -> [String]) throws -> Void) throws {
        try SharedStore.with { shared in
            try shared.push("echo $EVE >>.gpg-id")
            let bytes = try shared.home.succeed(["gpg", "--armor", "--export", shared.bob.fingerprint])
            try shared.home.write(String(decoding: bytes, as: UTF8.self), to: "key")
            try body(shared) { command in
                command.split(separator: " ").map {
                    $0 == "KEY"
                        ? shared.bob.fingerprint : $0 == "FILE" ? shared.home.path("key").string : String($0)
                }
            }
        }
    }

    /// Holds:
    /// - Only what you type after a question is shown answers it.
    @Test func whatIsTypedBeforeAQuestionIsNoAnswer() throws {
        try with { shared, words in
            for command in Self.commands {
                let result = try shared.home.onTerminal(
                    ["passdir"] + words(command), [TerminalStep(at: "", type: "y\ny\ny\n")], at: "[y/N] ")
                #expect(result.output.contains("[y/N] "), "\(command): \(result.output)")
                #expect(result.exitCode == 1, "\(command): \(result.output)")
                #expect(result.output.contains("othing was changed"), "\(command): \(result.output)")
            }
            #expect(try shared.secrets(for: shared.eve) == [])
        }
    }

    /// Holds:
    /// - Nothing is asked where you cannot see what the question is about.
    @Test(.slow, arguments: [">/dev/null", "| cat", "2>/dev/null"]) func nobodyIsAskedWhoSeesNothing(
        _ end: String
    )
        throws
    {
        try with { shared, words in
            for command in Self.commands {
                let line =
                    "exec 3>&1; { passdir \(words(command).joined(separator: " ")); echo \"ended $?\" >&3; } \(end)"
                let result = try shared.home.onTerminal(["sh", "-c", line], [], at: "[y/N] ")
                #expect(!result.output.contains("[y/N]"), "\(command): \(result.output)")
                #expect(result.output.contains("ended 1"), "\(command): \(result.output)")
            }
            #expect(try shared.secrets(for: shared.eve) == [])
            #expect(try shared.secrets(for: shared.bob) == [])
        }
    }

    /// What was printed stands above the question.
    @Test(.slow) func whatTheQuestionIsAboutComesFirst() throws {
        try with { shared, words in
            for command in Self.commands {
                let result = try shared.onTerminal(words(command), answers: "n\n")
                let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
                let question = try #require(lines.firstIndex { $0.contains("[y/N]") }, "\(command)")
                #expect(lines[question...].count <= 4, "\(command): \(result.output)")
            }
        }
    }
}
