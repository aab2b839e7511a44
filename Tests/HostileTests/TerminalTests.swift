import Glibc
import SystemPackage
import TestKit
import Testing

/// What others wrote, as commands print it: names in the tree, subjects and authors of commits, user ids of keys, words
/// of servers, and arguments that a script passes on.
@Suite struct TerminalTests {
    /// A name that clears the line, colours, reorders, hides and forges a line.
    static let attack =
        "x\u{1B}[2K\r\u{9B}31m\u{202E}gpj\u{2066}\u{200B}\u{E0041}\u{2028}\nFORGED: all is well\u{7F}\u{8}\t."

    /// Whether what a program printed can steer nothing and has no line of somebody else.
    static func isHarmless(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let isVisible = text.unicodeScalars.allSatisfy { scalar in
            let ranges: [ClosedRange<UInt32>] = [
                0...9, 0xB...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200B...0x200F, 0x2028...0x202E,
                0x2060...0x206F, 0xFEFF...0xFEFF, 0xE0000...0xE0FFF,
            ]
            return !ranges.contains { $0.contains(scalar.value) }
        }
        return isVisible && !text.split(separator: "\n").contains { $0.hasPrefix("FORGED") }
    }

    /// A store with a hostile name, conflict, history, key and recipient; nothing is mounted.
    static func makeStore(_ home: TestHome, recipients isHostile: Bool = false) throws -> TestStore {
        try home.succeed([
            "gpg", "--batch", "--passphrase", "", "--quick-gen-key",
            "Mal\u{202E}lo\u{200B}ry\u{9B}31m <mal@example.org>", "future-default", "default", "never",
        ])
        let key = try home.makeKey("one@example.org")
        let store = try home.makeStore("one", recipients: [key], remote: true)
        try store.insert("mail/imap", "secret")
        let cipher = try home.bytes(at: store.path.appending("mail/imap.gpg"))
        for name in [Self.attack, Self.attack + ".conflict-host-20260101-000000"] {
            let file = try FileDescriptor.open(
                store.path.appending("mail").appending(FilePath.Component(name + ".gpg")!), .writeOnly,
                options: [.create], permissions: [.ownerReadWrite])
            try file.closeAfter { _ = try file.writeAll(cipher) }
        }
        if isHostile {
            try home.succeed(
                [
                    "sh", "-c", "printf 'mal@example.org\\n%s\\n' \"$0\" >> .gpg-id",
                    "no\u{202E}\u{1B}[31mbody",
                ],
                in: store.path)
        }
        try store.git("add", "-A")
        let tree = try store.git("write-tree")
        let builder = HostileTree(home: home, repository: store.path)
        let commit = try builder.commit(
            tree, parents: [try builder.resolve("HEAD")],
            message: "Sub\u{1B}]0;title\u{7}ject\u{202E} \u{9B}31m\r\u{2028}FORGED\n\nFORGED: body\n",
            author: "Mal\u{1B}[31m\u{202E}lory\u{9B}\r <mal@example.org> 1700000000 +0000")
        try store.git("update-ref", "refs/heads/main", commit)
        try store.git("push", "-q")
        try home.addStores([store])
        return store
    }

    /// Holds:
    /// - Nothing that others wrote steers a terminal, hides text or makes a line of its own in what passdir
    ///   prints or logs.
    @Test(.slow) func noCommandPrintsWhatOthersWroteUnfiltered() throws {
        try TestHome.with { home in
            _ = try Self.makeStore(home, recipients: true)
            let attack = Self.attack.replacing("\0", with: "")
            let commands: [[String]] = [
                ["list"], ["list", "--json"], ["list", "one/mail"], ["search", "mail"],
                ["search", "--json", "x"],
                ["log"], ["log", "one"], ["log", "--ages", "one"], ["conflicts"], ["keys"],
                ["keys", "--json"],
                ["recipients", "show", "one"], ["recipients", "show", "--json", "one"],
                ["recipients", "check", "one"], ["recipients", "check", "--json", "one"],
                ["recipients", "confirm", "--yes", "one"], ["recipients", "add", "--dry-run", "one", attack],
                ["audit"], ["audit", "--json"], ["store", "list"], ["store", "show", "one"],
                // Arguments that come back in errors.
                ["list", attack], ["log", "one/" + attack], ["log", "-n", attack], ["store", "show", attack],
                ["restore", "one/" + attack, "--at", attack],
                ["conflicts", "settle", attack, "--keep", "named"],
                ["conflicts", "settle", "one/x", "--keep", attack], ["credential", "forget", attack],
                ["recipients", "add", "one", attack], ["keys", "import", attack], ["sync", attack],
                ["store", "add", attack, "--path", attack], ["store", "add", "two", "--url", attack],
                ["store", "set", "one", attack, attack], ["mount", "/dev/null/" + attack],
                [attack], ["--" + attack], ["store", attack], ["store", "rename", "one", attack],
                ["help", attack], ["store", "add", "x", "--authentication", attack, "--url", "https://h/"],
            ]
            var shown = 0
            for command in commands {
                let result = try home.run(["passdir"] + command)
                // The tab between the two names of a conflict is ours.
                let lines = result.output.split(separator: "\n").map { line in
                    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
                    return Array(
                        (command == ["conflicts"] && fields.count == 2 ? fields.joined() : String(line)).utf8)
                }
                #expect(lines.allSatisfy(Self.isHarmless), "\(command): \(result.output.debugDescription)")
                #expect(
                    Self.isHarmless(result.standardError), "\(command): \(result.errors.debugDescription)")
                #expect(
                    !result.output.isEmpty || !result.errors.isEmpty || result.exitCode == 0, "\(command)")
                if (result.output + result.errors).contains("u{1B}") { shown += 1 }
            }
            // The attack is shown, not left out.
            #expect(shown > 20)
        }
    }

    /// Programs get names as they are, from `--json`.
    @Test func jsonCarriesNamesUnchanged() throws {
        try TestHome.with { home in
            let store = try Self.makeStore(home)
            let check = """
                import json, os, sys
                paths = {entry["path"] for entry in json.load(sys.stdin)}
                files = {name[:-4] for name in os.listdir(sys.argv[1])}
                sys.exit(0 if {"mail/" + name for name in files} == paths else 1)
                """
            try home.succeed([
                "sh", "-c", "passdir list --json | python3 -c \"$0\" \"$1\"", check,
                store.path.appending("mail").string,
            ])
        }
    }

    /// `status`, `sync`, the daemon's log and the extended attribute: a server's words, and names in errors.
    @Test(.slow) func whatTheDaemonTellsIsFiltered() throws {
        try TestHome.with { home in
            let store = try Self.makeStore(home)
            let hook = "#!/bin/sh\ncat ~/words >&2\nexit 1\n"
            try home.write(hook, to: "one.git/hooks/pre-receive", mode: [.ownerReadWriteExecute])
            try home.write(
                "<b>no</b>\u{1B}[2J\u{9B}1m\u{202E} \r\nFORGED: ok\n"
                    + String(repeating: "y", count: 100_000),
                to: "words")
            let name = Self.attack + "2.gpg"
            let file = try FileDescriptor.open(
                store.path.appending("mail").appending(FilePath.Component(name)!), .writeOnly,
                options: [.create], permissions: [.ownerReadWrite])
            try file.closeAfter { _ = try file.writeAll(Array("nonsense".utf8)) }
            _ = try home.mount()
            let visible = home.path("mnt/one/mail").appending(FilePath.Component(Self.attack + "2")!)
            #expect(try home.run(["cat", visible.string]).exitCode != 0)
            let told = try home.run(["getfattr", "--only-values", "-n", "user.passdir.error", visible.string])
            #expect(
                told.exitCode == 0 && Self.isHarmless(told.standardOutput), "\(told.output.debugDescription)")
            try home.succeed(["sh", "-c", "echo changed > mnt/one/mail/imap"])
            for command in [["sync", "one"], ["sync", "--json", "one"], ["status"], ["status", "--json"]] {
                let result = try home.run(["passdir"] + command)
                #expect(
                    Self.isHarmless(result.standardOutput), "\(command): \(result.output.debugDescription)")
                #expect(
                    Self.isHarmless(result.standardError), "\(command): \(result.errors.debugDescription)")
                #expect(
                    (result.output + result.errors).contains("<b>no</b>"),
                    "\(command): the server's words are told")
                #expect(result.output.utf8.count < 20_000, "\(command)")
            }
            try home.unmount()
            let log = try home.bytes(at: home.path("state/passdir/log"))
            #expect(Self.isHarmless(log), "\(String(decoding: log, as: UTF8.self).debugDescription)")
            #expect(!log.isEmpty)
        }
    }

    /// The desktop reads markup in the body of a notification.
    ///
    /// Holds:
    /// - Notifications contain no markup that others wrote.
    @Test func notificationsHaveNoMarkupOfOthers() throws {
        try TestHome.with { home in
            _ = try Self.makeStore(home)
            let hook =
                "#!/bin/sh\nprintf '<a href=\"http://evil\">pay</a> & <img src=x>\\033[31m\\342\\200\\256\\n' >&2\nexit 1\n"
            try home.write(hook, to: "one.git/hooks/pre-receive", mode: [.ownerReadWriteExecute])
            let session = """
                set -e
                trap 'passdir unmount 2> /dev/null || true; kill %1' EXIT
                dbus-monitor --session "interface='org.freedesktop.Notifications'" > ~/bus &
                until grep -q NameAcquired ~/bus; do sleep 0.05; done
                passdir mount ~/mnt
                echo changed > ~/mnt/one/mail/imap
                ! passdir sync one 2> /dev/null
                for i in $(seq 400); do grep -q 'string "passdir: one"' ~/bus && break; sleep 0.05; done
                """
            let result = try home.run(
                ["dbus-run-session", "--", "bash", "-c", session], limit: .seconds(90))
            #expect(result.exitCode == 0, "\(result.errors)")
            let told = try home.text(of: "bus")
            #expect(told.contains("&lt;a href="), "\(told)")
            #expect(told.contains("&amp; &lt;img"), "\(told)")
            #expect(!told.contains("<a href") && !told.contains("\u{1B}") && !told.contains("\u{202E}"))
        }
    }

    /// A shell evaluates what completes a word.
    ///
    /// Holds:
    /// - Completing a store's name evaluates no name.
    @Test(.slow) func completionOffersNoNameThatAShellWouldEvaluate() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("plain", recipients: [key])
            try home.addStores([store])
            for name in ["$(touch ran)", "`touch ran`", "a b", "a;b", "a'b", "a\"b", "\u{202E}a"] {
                let other = try home.makeStore("s\(name.utf8.reduce(0) { $0 + Int($1) })", recipients: [key])
                try home.succeed(["passdir", "store", "add", name, "--path", other.path.string])
            }
            let script = try home.succeed(["passdir", "--generate-completion-script", "bash"])
            try home.succeed(["sh", "-c", "cat > ~/completion.bash"], input: script)
            let offered = try home.succeed([
                "bash", "-c",
                """
                source ~/completion.bash
                COMP_WORDS=(passdir store show ''); COMP_CWORD=3; COMP_LINE="passdir store show "
                COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
                _passdir passdir '' show; printf '%s\\n' "${COMPREPLY[@]}"
                """,
            ])
            #expect(
                String(decoding: offered, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-") }
                    == ["plain", "$(touch ran)", "`touch ran`", "a b", "a;b", "a'b", "a\"b"])
            #expect(access(home.path("ran").string, F_OK) != 0, "a name was evaluated")
        }
    }
}
