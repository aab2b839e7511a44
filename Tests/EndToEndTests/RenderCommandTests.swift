import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir render`.
@Suite struct RenderCommandTests {
    private func withStore(
        mounted: Bool = false, _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("db", "p'w\"$\nuser: me\notpauth://totp/x?secret=JBSWY3DPEHPK3PXP\n")
            try store.insert("counted", "pw\notpauth://hotp/x?secret=JBSWY3DPEHPK3PXP&counter=7\n")
            try store.insert("again", "passdir://work/db#first")
            try home.addStores([store])
            if mounted { try home.mount() }
            try body(home, store)
            if mounted { try home.unmount() }
        }
    }

    /// Holds:
    /// - A template is printed with its values, escaped for its kind, from a file and from standard input, with a mount and without
    ///   one; a value is not looked at for references.
    @Test(.slow, arguments: [false, true]) func aTemplateIsPrintedWithItsValues(mounted: Bool) throws {
        try withStore(mounted: mounted) { home, store in
            try home.write(
                #"{"a": "passdir://work/db#first", "b": ["passdir://work/db#user", "passdir://work/again"]}"#,
                to: "app.json.tpl")
            let json = #"{"a": "p'w\"$", "b": ["me", "passdir://work/db#first"]}"#
            #expect(try home.passdir("render", "app.json.tpl").output == json)
            let read = try home.run([
                "bash", "-c",
                "passdir render app.json.tpl | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"a\"])'",
            ])
            #expect(read.output == "p'w\"$\n")
            func render(_ text: String, _ words: String...) throws -> String {
                let input = Array(text.utf8)
                return String(
                    decoding: try home.succeed(["passdir", "render"] + words + ["-"], input: input),
                    as: UTF8.self)
            }
            #expect(try render("x passdir://work/db#first y") == "x p'w\"$ y")
            #expect(try render("A=passdir://work/db#user", "--for", "dotenv") == "A='me'")
            let whole = try render(
                "passdir://work/db\n# passdir://work/none\n".replacing("# passdir", with: "# "))
            #expect(whole.hasPrefix("p'w\"$\nuser: me\n"))
            var (ours, theirs) = ("", "-")
            for _ in 0..<5 where ours != theirs {
                ours = try render("passdir://work/db?otp") + "\n"
                theirs = try home.run(["oathtool", "--totp", "-b", "JBSWY3DPEHPK3PXP"]).output
            }
            #expect(ours == theirs)
        }
    }

    /// Holds:
    /// - A reference that has no value is named with its file and line, and nothing is printed; a code that counts is not used up.
    @Test func whatHasNoValueIsNamed() throws {
        try withStore { home, store in
            let before = try store.git("rev-parse", "HEAD")
            for (text, said) in [
                (
                    "\npassdir://work/db#user\npassdir://work/none",
                    "t.txt: there is no value for passdir://work/none in line 3: there is no secret \"none\" in the store"
                ),
                ("passdir://other/x", "in line 1: there is no store \"other\""),
                ("passdir://work/db#url", "work/db has no field \"url\"; it has: user"),
                ("passdir://work/counted?otp", "passdir otp work/counted prints the next one"),
                ("passdir://work/again?otp", "work/again has no otpauth URI"),
                ("passdir://work/.git/config", "there is no secret"),
                ("passdir://work/../gnupg/x", "in line 1 has \"..\" in it"),
                ("me passdir://work", "t.txt: the reference passdir://work in line 1 names no secret"),
            ] {
                try home.write(text, to: "t.txt")
                let done = try home.passdir("render", "t.txt")
                #expect(done.exitCode == 1 && done.output.isEmpty && done.errors.contains(said), "\(done)")
                #expect(done.errors.filter(\.isNewline).count == 1 && !done.errors.contains("p'w"), "\(done)")
            }
            let none = try home.passdir("render", "none.txt")
            #expect(none.exitCode == 1 && none.errors.contains("cannot read none.txt"), "\(none)")
            #expect(try store.git("rev-parse", "HEAD") == before)
        }
    }

    /// Holds:
    /// - `passdir render` and `passdir run` print and run nothing if a reference has no value, or whoever started them may not
    ///   read it.
    /// - The rules are for who starts `render` and `run`, and a locked store is not read; nothing is printed or run then.
    @Test(.slow, arguments: [false, true]) func rulesHoldForWhoRendersAndRuns(mounted: Bool) throws {
        try withStore(mounted: mounted) { home, _ in
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "work/db", "--deny-under", "agent"])
            try home.write("A=passdir://work/again\nB=passdir://work/db#first\n", to: "t.env")
            let commands = [
                "render t.env", "run --env-file t.env -- touch ran",
                "run --env B=passdir://work/db#first -- touch ran",
            ]
            for command in commands {
                let done = try home.run([agent, "-c", "passdir \(command); exit $?"])
                #expect(done.exitCode == 1 && done.output.isEmpty, "\(command): \(done)")
                #expect(
                    done.errors.contains("the access rules refuse reading work/db"), "\(command): \(done)")
            }
            #expect(!FileCalls.exists(home.path("ran")))
            let log = try home.passdir("access", "log").output
            #expect(log.contains("denied") && log.contains("agent"), "\(log)")
            guard mounted else { return }
            try home.succeed(["passdir", "lock"])
            for command in commands {
                let done = try home.run(["bash", "-c", "passdir \(command); exit $?"])
                #expect(
                    done.exitCode == 1 && done.errors.contains("passdir unlock work"), "\(command): \(done)")
            }
            #expect(!FileCalls.exists(home.path("ran")))
            try home.succeed(["passdir", "unlock"])
        }
    }
}
