import Glibc
import SystemPackage
import TestKit
import Testing

/// Adding, replacing and removing stores: undone when a step fails, old or new when the process is killed at one.
@Suite struct LifecycleTests {
    static let addFaults = ["add.journal", "add.cloned", "add.checked", "add.credential", "add.configured"]
    static let recloneFaults = [
        "reclone.journal", "reclone.cloned", "reclone.decided", "reclone.aside", "reclone.placed",
        "reclone.judged", "reclone.credential", "reclone.configured",
    ]
    static let removeFaults = [
        "remove.decided", "remove.configured", "remove.aside", "remove.judged", "remove.credential",
        "remove.learned", "remove.folder",
    ]

    /// Two remotes with a secret each.
    private func remotes(_ home: TestHome) throws -> (TestStore, TestStore) {
        let key = try home.makeKey("a@example.org")
        let one = try home.makeStore("one", recipients: [key], remote: true)
        let two = try home.makeStore("two", recipients: [key], remote: true)
        try one.insert("mail/imap", "one's")
        try two.insert("mail/imap", "two's")
        for store in [one, two] { try store.git("push", "-q") }
        return (one, two)
    }

    /// Every file of passdir's but the journal's lock, with a digest of what it says; credentials decrypted.
    private func picture(_ home: TestHome) throws -> [String] {
        let script = """
            cd '\(home.folder)'
            find config data state -type f ! -path '*/.git/*' ! -name lock ! -name 'state.sqlite*' ! -name log -print0 \
            | sort -z | while IFS= read -r -d '' f; do
                case $f in
                data/passdir/credentials/*.gpg) echo "$f $(gpg --batch -qd "$f" 2>/dev/null)";;
                *) echo "$f $(sha256sum < "$f")";;
                esac
            done
            find data -mindepth 3 -maxdepth 3 -type d
            for g in data/passdir/stores/*/.git; do [ -d "$g" ] && git -C "$g/.." remote get-url origin; done
            exit 0
            """
        return String(decoding: try home.succeed(["bash", "-c", script]), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    /// The picture without the ids and digests that differ from one run to the next.
    private func shape(_ picture: [String]) -> [String] {
        picture.map {
            $0.replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "ID").replacing(/[0-9a-f]{64} .*/, with: "")
        }
    }

    @Test(.slow) func aKilledAddLeavesAllOrNothing() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            let url = one.remote?.string ?? ""
            try home.addStores([two])
            let before = try picture(home)
            for fault in Self.addFaults {
                let killed = try home.passdir(
                    "store", "add", "new", "--url", url, "--password-stdin", input: [80, 87],
                    extra: ["PASSDIR_FAULT": fault])
                #expect(killed.exitCode == 128 + SIGKILL, "\(fault): \(killed.errors)")
                let list = try home.passdir("store", "list").output
                guard fault == "add.configured" else {
                    #expect(try picture(home) == before, "\(fault)")
                    continue
                }
                #expect(list.contains("new "))
                let after = try picture(home)
                #expect(after.contains { $0.hasSuffix(".password.gpg PW") }, "\(after)")
                #expect(after.contains(url))
                #expect(try home.passdir("list", "new").output == "new/mail/imap\n")
            }
        }
    }

    /// Ctrl-C, and what a session sends at its end, while the server says nothing.
    @Test(.slow, arguments: [SIGINT, SIGTERM, SIGHUP]) func anInterruptedAddLeavesNothing(_ signal: CInt)
        throws
    {
        try TestHome.with { home in
            let (_, two) = try remotes(home)
            try home.addStores([two])
            let before = try picture(home)
            let server = try home.start([
                "python3", "-c",
                """
                import os, socket
                listener = socket.create_server(("127.0.0.1", 0))
                open("port.new", "w").write(str(listener.getsockname()[1]))
                os.rename("port.new", "port")
                held = listener.accept()
                open("connected", "w")
                held[0].settimeout(60)
                while held[0].recv(4096):
                    pass
                """,
            ])
            try home.waitUntil("the server listens") { access(home.path("port").string, F_OK) == 0 }
            let url = "git://127.0.0.1:\(try home.text(of: "port"))/x.git"
            let adding = try home.start(["passdir", "store", "add", "new", "--url", url])
            try home.waitUntil("the clone has begun") { access(home.path("connected").string, F_OK) == 0 }
            kill(adding.pid, signal)
            let result = try adding.wait(limit: .seconds(20))
            #expect(result.exitCode == 1, "\(result.errors)")
            #expect(
                result.errors.hasPrefix("passdir: ") && result.errors.contains("stopped"), "\(result.errors)")
            // The connection ends with the clone's child.
            #expect(try server.wait(limit: .seconds(20)).exitCode == 0)
            #expect(try picture(home) == before)
        }
    }

    @Test(.slow) func aFailedAddLeavesNothing() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            let url = one.remote?.string ?? ""
            try home.addStores([two])
            let before = try picture(home)
            for fault in Self.addFaults {
                let failed = try home.passdir(
                    "store", "add", "new", "--url", url, "--password-stdin", input: [80, 87],
                    extra: ["PASSDIR_FAULT": "fail:\(fault)"])
                #expect(failed.exitCode == 1, "\(fault)")
                #expect(try picture(home) == before, "\(fault)")
            }
            // And then it works.
            try home.succeed(["passdir", "store", "add", "new", "--url", url])
            #expect(try home.passdir("list", "new").output == "new/mail/imap\n")
        }
    }

    @Test(.slow) func aKilledRecloneLeavesOldOrNew() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            let urls = (one.remote?.string ?? "", two.remote?.string ?? "")
            for fault in Self.recloneFaults {
                try home.succeed(["passdir", "store", "add", "s", "--url", urls.0])
                try home.succeed(["passdir", "credential", "set", "s"], input: Array("OLD".utf8))
                let before = try picture(home)
                let killed = try home.run(
                    ["passdir", "store", "reclone", "s", "--url", urls.1, "--yes", "--password-stdin"],
                    input: Array("NEW".utf8), extra: ["PASSDIR_FAULT": fault])
                #expect(killed.exitCode == 128 + SIGKILL, "\(fault): \(killed.errors)")
                _ = try home.passdir("store", "list")
                let after = try picture(home)
                if ["reclone.journal", "reclone.cloned"].contains(fault) {
                    #expect(after == before, "\(fault)")
                } else {
                    #expect(after.contains { $0.hasSuffix(".password.gpg NEW") }, "\(fault): \(after)")
                    #expect(after.contains(urls.1) && !after.contains(urls.0), "\(fault)")
                    #expect(try home.passdir("store", "show", "s").output.contains("two.git"), "\(fault)")
                    let wanted = shape(before).map {
                        $0.replacing("OLD", with: "NEW").replacing("one.git", with: "two.git")
                    }
                    #expect(shape(after) == wanted, "\(fault)")
                }
                // The id stays.
                let id = try home.text(of: "config/passdir/config").firstMatch(
                    of: /[0-9a-f]{8}-[0-9a-f-]{27}/)
                #expect(before.contains { $0.contains(id?.output ?? "none") }, "\(fault)")
                try home.succeed(["passdir", "store", "remove", "s", "--yes"])
            }
        }
    }

    @Test(.slow) func aKilledRemoveIsFinished() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            try home.addStores([two])
            let before = try picture(home)
            for fault in Self.removeFaults {
                try home.succeed(["passdir", "store", "add", "s", "--url", one.remote?.string ?? ""])
                try home.succeed(["passdir", "credential", "set", "s"], input: Array("PW".utf8))
                let killed = try home.run(
                    ["passdir", "store", "remove", "s", "--yes"], extra: ["PASSDIR_FAULT": fault])
                #expect(killed.exitCode == 128 + SIGKILL, "\(fault): \(killed.errors)")
                _ = try home.passdir("store", "list")
                #expect(try picture(home) == before, "\(fault)")
            }
        }
    }

    @Test(.slow) func aDaemonsStartFinishesToo() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            try home.addStores([two])
            try home.succeed(["passdir", "store", "add", "s", "--url", one.remote?.string ?? ""])
            _ = try home.run(
                ["passdir", "store", "remove", "s", "--yes"], extra: ["PASSDIR_FAULT": "remove.decided"])
            try home.mount()
            #expect(try home.succeed(["ls", home.mountPoint.string]) == Array("two\n".utf8))
            try home.unmount()
            #expect(try picture(home).allSatisfy { !$0.contains("/stores/") })
        }
    }

    @Test(.slow) func whatNoRemoteHasIsNotDeleted() throws {
        try TestHome.with { home in
            let (one, _) = try remotes(home)
            for command in ["remove", "reclone"] {
                try home.succeed(["passdir", "store", "add", "s", "--url", one.remote?.string ?? ""])
                let path = try #require(
                    try home.passdir("store", "show", "s").output.split(separator: "\n").first {
                        $0.hasPrefix("path")
                    }?
                    .split(separator: " ").last.map(String.init))
                try home.succeed(
                    ["pass", "insert", "-m", "unpushed"], input: Array("precious".utf8),
                    extra: ["PASSWORD_STORE_DIR": path])
                let result = try home.run(["passdir", "store", command, "s", "--yes"])
                #expect(result.exitCode == 0 && result.errors.contains("on branch"), "\(result.errors)")
                let place = try #require(
                    result.errors.split(separator: "\n").last?.split(separator: " ").last.map(String.init))
                #expect(
                    try home.succeed(["pass", "show", "unpushed"], extra: ["PASSWORD_STORE_DIR": place])
                        == Array("precious".utf8))
            }
            let asked = try home.passdir("store", "remove", "s", "--force")
            #expect(asked.exitCode == 1 && asked.errors.contains("--yes"))
            try home.succeed(["passdir", "store", "remove", "s", "--force", "--yes"])
            #expect(try home.succeed(["ls", home.path("data/passdir/stores").string]).isEmpty)
        }
    }

    @Test(.slow) func badInput() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            try home.addStores([one])
            try home.succeed(["git", "init", "-q", "--bare", home.path("empty.git").string])
            let before = try picture(home)
            let url = two.remote?.string ?? ""
            for (arguments, words) in [
                (["a/b", "--url", url], "slash"), ([".x", "--url", url], "starts with"),
                (["", "--url", url], "empty"),
                (["a\tb", "--url", url], "control"), (["ONE", "--url", url], "already"),
                (["x", "--path", one.path.pushing("mail").string], "overlap"),
                (["x", "--path", home.path("passdir").string], "does not exist"),
                (["x", "--path", home.path(".gitconfig").string], "not a folder"),
                (["x", "--url", home.path("nowhere.git").string], "no repository"),
                (["x", "--url", "https://localhost:1/x.git"], "connect"),
                (["x", "--url", "https://ann:geheim@localhost:1/x.git"], "connect"),
                (["x", "--url", url, "--branch", "nix"], "no branch \"nix\""),
                (["x", "--url", "gopher://x"], "not a URL"),
                (["x", "--url", "--upload-pack=x"], ""),
                (["x", "--url", "https://no-such-host.invalid/x"], "resolve"),
            ] {
                let result = try home.run(["passdir", "store", "add"] + arguments)
                #expect(result.exitCode != 0, "\(arguments)")
                #expect(result.errors.contains(words), "\(arguments): \(result.errors)")
                #expect(!result.errors.contains("geheim"))
            }
            #expect(try picture(home) == before)
            // A folder above another store, and the folder of the mount.
            #expect(try home.passdir("store", "add", "x", "--path", home.folder.string).exitCode == 1)
            // An empty remote is a store to begin with.
            let empty = try home.passdir("store", "add", "empty", "--url", home.path("empty.git").string)
            #expect(empty.exitCode == 0 && empty.errors.contains("there is no .gpg-id"), "\(empty.errors)")
        }
    }

    /// As a server has it whose default branch has another name than what was pushed.
    @Test(.slow) func aRemoteWhoseHeadNamesNoBranch() throws {
        try TestHome.with { home in
            let (_, two) = try remotes(home)
            let remote = try #require(two.remote)
            try home.succeed(["git", "-C", remote.string, "symbolic-ref", "HEAD", "refs/heads/nowhere"])
            let before = try picture(home)
            for (words, said) in [
                ([], "its HEAD names a branch that does not exist; --branch names one, such as main\n"),
                (["--branch", "nix"], "has no branch \"nix\"\n"),
            ] {
                let result = try home.run(["passdir", "store", "add", "x", "--url", remote.string] + words)
                #expect(result.exitCode == 1 && result.errors.hasSuffix(said), "\(result)")
            }
            #expect(try picture(home) == before)
            try home.succeed(["passdir", "store", "add", "x", "--url", remote.string, "--branch", "main"])
            let folder = home.path("data/passdir/stores")
            let id = try home.succeed(["ls", folder.string]).dropLast()
            let clone = folder.appending(String(decoding: id, as: UTF8.self))
            func git(_ words: String...) throws -> String {
                String(decoding: try home.succeed(["git"] + words, in: clone), as: UTF8.self)
            }
            #expect(try git("status", "-sb") == "## main...origin/main\n")
            #expect(try git("branch", "--format=%(refname:short)") == "main\n")
            try home.succeed(["passdir", "store", "reclone", "x", "--branch", "main", "--yes"])
            #expect(try git("status", "-sb") == "## main...origin/main\n")
        }
    }

    @Test func aDiskThatFillsDuringACloneLeavesNothing() throws {
        guard getuid() == 0 else { return }
        try TestHome.with { home in
            let (one, _) = try remotes(home)
            try home.succeed(["sh", "-c", "head -c 3000000 /dev/urandom > '\(one.path)/big.bin'"])
            try one.git("add", "big.bin")
            try one.git("commit", "-qm", "big")
            try one.git("push", "-q")
            let script = """
                mkdir -p "$XDG_DATA_HOME" && mount -t tmpfs -o size=1m tmpfs "$XDG_DATA_HOME" || exit 99
                passdir store add big --url '\(one.remote?.string ?? "")'; code=$?
                find "$XDG_DATA_HOME" -mindepth 1 ! -name passdir ! -name stores
                exit $code
                """
            let result = try home.run(["unshare", "-m", "sh", "-c", script])
            guard result.exitCode != 99 else { return }
            #expect(result.exitCode == 1)
            #expect(result.output.isEmpty, "\(result.output)")
            #expect(result.errors.contains("cannot clone"), "\(result.errors)")
        }
    }

    @Test(.slow) func eraseLeavesWhatWasAdopted() throws {
        try TestHome.with { home in
            let (one, two) = try remotes(home)
            try home.addStores([one])
            try home.succeed(["passdir", "store", "add", "s", "--url", two.remote?.string ?? ""])
            try home.succeed(["passdir", "credential", "set", "s"], input: Array("PW".utf8))
            try home.mount()
            #expect(try home.passdir("erase", "--yes").errors.contains("unmount"))
            try home.unmount()
            #expect(try home.passdir("erase").exitCode == 1)
            try home.succeed(["passdir", "erase", "--yes"])
            for place in ["config/passdir", "state/passdir", "data/passdir", "run/passdir"] {
                #expect(access(home.path(place).string, F_OK) != 0, "\(place)")
            }
            #expect(try one.show("mail/imap") == Array("one's".utf8))
        }
    }

    /// Killed at the first byte that it writes: `config.lock` must never lie there without the word that says whose it is.
    @Test func aKillAtTheFirstWriteLeavesNoLock() throws {
        try TestHome.with { home in
            let store = try home.makeStore("s", recipients: [try home.makeKey("a@example.org")])
            try home.addStores([store])
            let killed = try home.run([
                "bash", "-c", "ulimit -c 0; ulimit -f 0; exec passdir store set s userName before",
            ])
            // SIGXFSZ.
            #expect(killed.exitCode == 128 + 25 || killed.exitCode == 25, "\(killed.exitCode)")
            try home.succeed(["passdir", "store", "set", "s", "userName", "after"])
            #expect(try home.text(of: "config/passdir/config").contains("after"))
        }
    }
}
