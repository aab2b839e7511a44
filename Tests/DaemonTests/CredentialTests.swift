import Glibc
import SystemPackage
import TestKit
import Testing

/// Credentials in the places where users have them: a real gnome-keyring, and files encrypted to a real key.
@Suite struct CredentialTests {
    /// Bytes that no text decoding would keep.
    private static let secret: [UInt8] = [0xFF, 0xFE, 1, 0x80] + Array("tok en\"'\\".utf8)

    private func setUp(_ home: TestHome) throws {
        let key = try home.makeKey("a@example.org")
        try home.addStores([try home.makeStore("work", recipients: [key])])
    }

    /// A session with an unlocked keyring; the script runs in it.
    private func inSession(_ home: TestHome, _ script: String, input: [UInt8] = []) throws -> ProgramResult {
        let start = """
            exec 3<&0 </dev/null
            eval "$(printf pass | gnome-keyring-daemon --unlock --components=secrets 2>/dev/null | sed 's/^/export /')"
            exec <&3
            \(script)
            """
        return try home.run(
            ["dbus-run-session", "--", "bash", "-c", start], input: input, limit: .seconds(60))
    }

    /// As on a machine where nobody logs in with a password: the service runs, and has no collection to keep anything in.
    @Test func aServiceWithoutACollectionIsPassedOver() throws {
        try TestHome.with { home in
            try setUp(home)
            let script = """
                eval "$(gnome-keyring-daemon --start --components=secrets 2>/dev/null </dev/null | sed 's/^/export /')"
                passdir credential set work && passdir credential list work
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", script], input: Self.secret, limit: .seconds(60))
            #expect(result.exitCode == 0, "\(result)")
            #expect(result.output.contains("stored in: encrypted file"), "\(result)")
        }
    }

    @Test func theSecretServiceKeepsThem() throws {
        try TestHome.with { home in
            try setUp(home)
            let id =
                try #require(
                    try home.passdir("store", "show", "work").output.split(separator: "\n").first {
                        $0.hasPrefix("id")
                    }
                )
                .split(separator: " ").last.map(String.init) ?? ""
            let result = try inSession(
                home,
                """
                set -e
                passdir credential set work --expires 2027-01-31
                date +%F > ~/today
                passdir credential list work
                secret-tool lookup xdg:schema org.passdir.Credential store \(id) kind password | od -An -tx1 || true
                passdir store rename work office
                passdir credential list office --json
                passdir audit | grep -c 'Secret Service'
                passdir credential forget office --yes
                passdir credential list
                """, input: Self.secret)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.contains("stored in: Secret Service\n"))
            // Both clocks of the same moment, local and UTC; midnight may come between.
            let today = try home.text(of: "today").prefix(10)
            #expect(result.output.contains("work   password  Secret Service  \(today)"))
            #expect(
                result.output.contains(
                    #"[{"expires":"2027-01-31","kind":"password","made":"\#(today)"#
                ))
            #expect(!home.hasFile(with: Self.secret))
            try home.succeed(["sh", "-c", "rm -rf '\(home.path("data"))/keyrings'"])
        }
    }

    @Test func withoutASessionAFileKeepsThem() throws {
        try TestHome.with { home in
            try setUp(home)
            let result = try home.passdir("credential", "set", "work", input: Self.secret)
            #expect(result.output == "stored in: encrypted file\n", "\(result.errors)")
            let files = try home.succeed(["sh", "-c", "ls '\(home.path("data/passdir/credentials"))'"])
            let name = String(decoding: files, as: UTF8.self).split(separator: "\n").map(String.init)
            #expect(name.count == 1)
            let file = home.path("data/passdir/credentials").appending(name[0])
            #expect(try home.succeed(["gpg", "--batch", "-qd", file.string]) == Self.secret)
            #expect(try home.succeed(["stat", "-c%a", file.string]) == Array("600\n".utf8))
            #expect(!home.hasFile(with: Self.secret))
            #expect(try home.passdir("credential", "list", "work").output.contains("encrypted file"))
            // It is asked for, and cannot be answered: nothing goes without --yes.
            #expect(try home.passdir("credential", "forget", "work").exitCode == 1)
            try home.succeed(["passdir", "credential", "forget", "work", "--yes"])
            #expect(try home.passdir("credential", "list", "work").output.isEmpty)
            #expect(access(file.string, F_OK) != 0)
            #expect(try home.passdir("credential", "forget", "work", "--yes").exitCode == 1)
            #expect(try home.passdir("credential", "set", "work", input: []).exitCode == 1)
            let wrong = try home.passdir("credential", "set", "work", "--expires", "2027-02-30", input: [65])
            #expect(wrong.exitCode == 64 && wrong.errors.contains("2027-02-30"))
        }
    }

    /// Runs a command on a terminal of its own, types something at its question, and tells what the terminal showed,
    /// how the command ended, and whether the terminal shows again what is typed.
    private func onTerminal(_ home: TestHome, _ typed: String, _ command: [String]) throws -> ProgramResult {
        let program = """
            import fcntl, os, pty, select, struct, sys, termios
            child, terminal = pty.fork()
            if child == 0:
                os.execvp(sys.argv[2], sys.argv[2:])
            # Held open as by a shell: the last one to close it would make it new.
            get_number = 0x80045430  # TIOCGPTN
            number = struct.unpack("i", fcntl.ioctl(terminal, get_number, bytes(4)))[0]
            held = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
            shown, answered, ended = b"", False, 0
            while not ended:
                ended, status = os.waitpid(child, os.WNOHANG)
                while select.select([terminal], [], [], 0.05)[0]:
                    shown += os.read(terminal, 4096)
                if not answered and shown.endswith(b": "):
                    answered = True
                    os.write(terminal, sys.argv[1].encode())
            code = os.waitstatus_to_exitcode(status)
            echo = bool(termios.tcgetattr(held)[3] & termios.ECHO)
            sys.stdout.buffer.write(shown)
            print(f"\\nended {code}, echo {echo}")
            """
        return try home.run(["python3", "-c", program, typed] + command, limit: .seconds(30))
    }

    @Test func theTerminalIsAskedAndDoesNotShowIt() throws {
        try TestHome.with { home in
            try setUp(home)
            let command = ["passdir", "credential", "set", "work"]
            let typed = "hunter2-\u{E4}"
            let set = try onTerminal(home, typed + "\n", command)
            #expect(set.output.hasPrefix("The password of work: "), "\(set.output)\(set.errors)")
            #expect(!set.output.contains("hunter2"))
            #expect(set.output.contains("stored in: encrypted file"))
            #expect(set.output.contains("ended 0, echo True"), "\(set.output)")
            let kept = ["sh", "-c", "gpg --batch -qd data/passdir/credentials/*"]
            #expect(try home.succeed(kept, in: home.folder) == Array(typed.utf8))

            // Ctrl-C ends it, changes nothing, and leaves a terminal that shows what is typed.
            let stopped = try onTerminal(home, "half\u{3}", command)
            #expect(stopped.output.contains("ended -2, echo True"), "\(stopped.output)")
            #expect(!stopped.output.contains("half"))
            #expect(try home.succeed(kept, in: home.folder) == Array(typed.utf8))
            // Nothing typed: nothing changed.
            let empty = try onTerminal(home, "\n", command)
            #expect(empty.output.contains("nothing was entered"))
            #expect(empty.output.contains("ended 1, echo True"), "\(empty.output)")
            #expect(try home.succeed(kept, in: home.folder) == Array(typed.utf8))
        }
    }

    @Test func statusWarnsBeforeTheyExpire() throws {
        try TestHome.with { home in
            try setUp(home)
            let soon = String(
                decoding: try home.succeed(["date", "-u", "-d", "+3 days", "+%F"]), as: UTF8.self
            ).prefix(10)
            try home.succeed(
                ["passdir", "credential", "set", "work", "--expires", String(soon)], input: [65, 66])
            try home.mount()
            let text = try home.passdir("status").output
            #expect(text.contains("warning  the password of \"work\" expires on \(soon)"), "\(text)")
            let made = try home.succeed(
                [
                    "sh", "-c", "date -u -d @$(stat -c %Y data/passdir/credentials/*.gpg) +%FT%TZ",
                ], in: home.folder)
            let entry =
                #""credentials":[{"expires":"\#(soon)","kind":"password","made":"\#(String(decoding: made.dropLast(), as: UTF8.self))","#
                + #""place":"encrypted file","store":"work"}]"#
            #expect(try home.passdir("status", "--json").output.contains(entry))
            try home.succeed(
                ["passdir", "credential", "set", "work", "--expires", "2020-01-01"], input: [65, 66])
            #expect(try home.passdir("status").output.contains("expired on 2020-01-01"))
            try home.succeed(["passdir", "credential", "set", "work"], input: [65, 66])
            #expect(try !home.passdir("status").output.contains("warning"))
            try home.unmount()
            #expect(try home.passdir("status", "--json").output.contains(#""credentials":[{"expires":null"#))
        }
    }

    @Test func removedStoresLeaveNone() throws {
        try TestHome.with { home in
            try setUp(home)
            try home.succeed(["passdir", "credential", "set", "work"], input: Self.secret)
            try home.succeed(["passdir", "store", "remove", "work", "--yes"])
            #expect(try home.succeed(["sh", "-c", "ls '\(home.path("data/passdir/credentials"))'"]).isEmpty)
        }
    }
}

extension TestHome {
    /// Whether any file in the home holds these bytes.
    func hasFile(with bytes: [UInt8]) -> Bool {
        let pattern = bytes.map { byte in "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        let result = try? run(
            ["sh", "-c", "LC_ALL=C grep -rlaP '\(pattern)' . 2>/dev/null"], in: folder, extra: ["LC_ALL": "C"]
        )
        return result?.exitCode == 0
    }
}
