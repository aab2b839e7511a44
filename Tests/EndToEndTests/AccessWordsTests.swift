import SystemPackage
import TestKit
import Testing

/// The words of a rule, as they are typed.
@Suite struct AccessWordsTests {
    private func withStore(_ body: (TestHome) throws -> Void) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("one", "text\n")
            try home.addStores([store])
            try body(home)
        }
    }

    /// A rule that was set holds, is shown, and is taken away by the same words.
    @Test(.slow) func namesWithQuotesMakeRules() throws {
        try withStore { home in
            let rules: [(set: [String], test: [String])] = [
                (["/it's", "--deny"], ["--as", "/it's"]),
                (["--deny", "--under", "it's"], ["--as", "/bin/cat", "--under", "it's"]),
                (["--unit", "a'b", "--deny"], ["--as", "/bin/cat", "--unit", "a'b"]),
            ]
            for rule in rules {
                try home.succeed(["passdir", "access", "set", "work/one"] + rule.set)
                #expect(try home.run(["passdir", "access"]).exitCode == 0, "\(rule)")
                let denied = try home.run(["passdir", "access", "test", "work/one"] + rule.test)
                #expect(denied.output.hasPrefix("deny: "), "\(rule): \(denied)")
                let others = try home.run(["passdir", "access", "test", "work/one", "--as", "/bin/cat"])
                #expect(others.output.hasPrefix("allow: "), "\(rule): \(others)")
                try home.succeed(
                    ["passdir", "access", "unset", "work/one"] + rule.set.filter { $0 != "--deny" })
            }
            try home.succeed(["passdir", "access", "set", "work/one", "--deny-under", "it's,b"])
            #expect(try home.passdir("access").output == "1  work/one  deny under 'it''s,b'\n")
        }
    }

    /// What may not be meant is told, and done.
    @Test func whatMayNotBeMeantIsTold() throws {
        try withStore { home in
            func warning(_ words: String...) throws -> String {
                let result = try home.run(["passdir", "access"] + words)
                #expect(result.exitCode == 0, "\(result)")
                return result.errors
            }
            #expect(try warning("set", "work", "--deny-under", "claude,codex") == "")
            #expect(
                try warning("set", "work/one", "--allow", "/bin/cat").contains(
                    "before 'deny under claude,codex' of work"))
            // Where the longer place denies it, too, nothing is allowed that was not.
            #expect(try warning("set", "work/one", "--deny-under", "codex,claude") == "")
            #expect(try warning("set", "work/one", "--allow", "/bin/ls") == "")
            #expect(try warning("unset", "work/one", "--deny-under", "claude,codex") == "")
            #expect(
                try warning("set", "work", "--deny", "/usr/bin/env bash").contains(
                    "a rule names a program's file, /usr/bin/env, without arguments"))
            #expect(
                try warning("set", "work", "--deny", "/opt/none").contains("/opt/none does not exist yet"))
            try home.write("#!/usr/bin/env -S bash -e\n", to: "agent", mode: [.ownerReadWriteExecute])
            let refused = try home.run([
                "passdir", "access", "set", "work", "--allow", home.path("agent").string,
            ])
            #expect(refused.exitCode == 1 && refused.errors.contains("interpreter, /"), "\(refused)")
            #expect(refused.errors.contains("/bash, is what reads"), "\(refused)")
        }
    }

    /// What is empty is refused in one sentence, and the file stays as it is.
    @Test func emptyNamesAreWrongUsage() throws {
        try withStore { home in
            try home.succeed(["passdir", "access", "set", "work", "/bin/cat", "--ask"])
            let before = try home.passdir("access").output
            let empty = [
                ["set", "work", "--unit", "", "--deny"], ["set", "work", "", "--deny"],
                ["set", "work", "--under", "", "--deny"], ["set", "work", "--deny-under", ","],
                ["unset", "work", "--unit", ""], ["unset", "work", ""], ["test", "work/one", "--as", ""],
                ["test", "work/one", "--as", "cat", "--under", ""],
                ["test", "work/one", "--as", "cat", "--unit", ""], ["log", "--program", ""],
            ]
            for words in empty {
                let result = try home.run(["passdir", "access"] + words)
                #expect(
                    result.exitCode == 64 && result.output.isEmpty
                        && result.errors.split(separator: "\n").count == 1, "\(words): \(result)")
            }
            #expect(try home.passdir("access").output == before)
        }
    }
}
