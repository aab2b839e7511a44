import Glibc
import SystemPackage
import TestKit
import Testing

/// Ways around rules of who may read that attackers found.
@Suite struct AccessDetourTests {
    /// A mounted store with a secret below a rule that denies what runs below `agent`, a copy of bash.
    private func withAgent(
        _ settings: [String: String] = [:], _ body: (TestHome, TestStore, _ agent: String) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("aws/key", "MARK\n")
            try store.insert("open/moved", "MARK too\n")
            try home.addStores([store])
            try home.configure(["access.log": "true"].merging(settings) { $1 })
            try home.mount()
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "work/aws", "--deny-under", "agent"])
            try body(home, store, agent)
            try home.unmount()
        }
    }

    /// In a process namespace a command has a number that another program has outside.
    @Test(.slow) func aNumberInANamespaceIsNobodyElse() throws {
        try withAgent { home, _, agent in
            let unshare = "unshare \(geteuid() == 0 ? "" : "-Ur") --pid --fork"
            #expect(try home.run([agent, "-c", "passdir show work/aws/key; :"]).output == "")
            for command in [
                "passdir show work/aws/key", "passdir run --env X=passdir://work/aws/key#first -- printenv X",
                "passdir cp work/aws/key work/open/copy",
            ] {
                for mounting in ["", " --mount-proc"] where geteuid() == 0 || mounting.isEmpty {
                    let result = try home.run([agent, "-c", "\(unshare)\(mounting) \(command); :"])
                    #expect(!result.output.contains("MARK"), "\(command)\(mounting)")
                    #expect(result.errors.contains("access rules refuse"), "\(result.errors)")
                }
            }
            #expect(try home.run(["ls", home.visible("work/open/copy").string]).exitCode != 0)
            #expect(try home.passdir("show", "work/aws/key").output == "MARK\n")
            let log = try home.passdir("access", "log").output
            #expect(log.contains("denied") && !log.contains("uncertain"), "\(log)")
        }
    }

    /// A version is what the secret is that it became.
    @Test(.slow) func aFormerNameIsNoWayToAVersion() throws {
        try withAgent { home, store, agent in
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            try home.succeed(["passdir", "mv", "work/open/moved", "work/aws/moved"])
            try home.waitUntil("the move is committed") {
                try store.git("rev-parse", "HEAD").filter(\.isHexDigit) != before
            }
            for command in [
                "restore work/open/moved --at \(before) --show", "show work/open/moved --at \(before)",
                "restore work/open/moved --at \(before)",
            ] {
                let result = try home.run([agent, "-c", "passdir \(command); :"])
                #expect(
                    !result.output.contains("MARK") && result.errors.contains("work/aws/moved"),
                    "\(command): \(result.output)\(result.errors)")
            }
            #expect(try home.run(["ls", home.visible("work/open/moved").string]).exitCode != 0)
            #expect(
                try home.passdir("restore", "work/open/moved", "--at", before, "--show").output
                    == "MARK too\n")
        }
    }

    /// Nor does a step hide what it became that no commit tells of a rename: a merge, or one commit that brought the ciphertext and
    /// another that removed it.
    @Test(.slow) func noStepHidesALaterName() throws {
        try withAgent { home, store, agent in
            for name in ["merged", "later", "copied"] { try store.insert("open/\(name)", "MARK \(name)\n") }
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    git checkout -q -b side; git commit -q --allow-empty -m Side.; git checkout -q main
                    git commit -q --allow-empty -m Main.; git merge -q --no-ff --no-commit side
                    git mv open/merged.gpg aws/renamed.gpg; git commit -qm Merge.
                    cp open/later.gpg aside; git rm -q open/later.gpg; git commit -qm Remove.
                    mv aside aws/back.gpg; git add aws; git commit -qm Add.
                    cp open/copied.gpg aws/twin.gpg; git add aws; git commit -qm Copy.
                    git rm -q open/copied.gpg; git commit -qm Remove.
                    """,
                ], in: store.path)
            // What was renamed is followed also where its text was changed since.
            try store.insert("aws/renamed", "new\n")
            let control = home.mountPoint.appending(".passdir").string
            for (name, now) in [("merged", "renamed"), ("later", "back"), ("copied", "twin")] {
                for command in [
                    "cat \(control)/at/\(before)/work/open/\(name)",
                    "cat \(control)/history/work/open/\(name)/*",
                    "passdir show work/open/\(name) --at \(before)",
                    "passdir restore work/open/\(name) --at \(before)",
                ] {
                    let result = try home.run([agent, "-c", "\(command); :"])
                    #expect(
                        !result.output.contains("MARK")
                            && (result.errors.contains("Permission denied")
                                || result.errors.contains("work/aws/\(now)")),
                        "\(command): \(result.output)\(result.errors)")
                }
                #expect(
                    try home.run(["cat", "\(control)/at/\(before)/work/open/\(name)"]).output
                        == "MARK \(name)\n")
            }
            // What has no other name is nobody else's.
            let own = "\(control)/at/\(before)/work/open/moved"
            #expect(try home.run([agent, "-c", "cat \(own); :"]).output == "MARK too\n")
        }
    }

    /// What was removed is not what another secret is that one commit brought in its place, where the commit would tell of a rename.
    /// Of a commit that was not made here, that is not known.
    @Test func anotherSecretIsNoLaterName() throws {
        try withAgent(["commit.delay": "1h"]) { home, store, agent in
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            // What lay there uncommitted is looked for at the start, and committed at once.
            try home.succeed(["passdir", "sync"])
            try home.succeed(["sh", "-c", "rm mnt/work/open/moved; echo other >mnt/work/aws/new"])
            let restore = [agent, "-c", "passdir restore work/open/moved --at \(before); :"]
            try home.succeed(["passdir", "sync"])
            #expect(try store.git("log", "-1", "--format=%s").hasPrefix("Change 2 secrets."))
            let restored = try home.run(restore)
            #expect(try home.passdir("show", "work/open/moved").output == "MARK too\n", "\(restored.errors)")
            #expect(try !home.passdir("access", "log").output.contains("aws/new"))

            try home.succeed(["rm", "mnt/work/open/moved"])
            try home.succeed(["passdir", "sync"])
            #expect(try store.git("status", "--porcelain") == "")
            try home.succeed(["sh", "-c", "rm -r .git/logs"], in: store.path)
            #expect(try home.run(restore).errors.contains("work/aws/new"))
        }
    }

    /// A rename is followed that replaced another secret, that other changes were committed with, or whose old name was taken again; and
    /// one of which nothing but its ends is left to be found.
    @Test(arguments: [
        "mv -f $M/open/moved $M/aws/key", "mv $M/open/moved $M/aws/new; rm $M/open/other",
        "mv $M/open/moved $M/aws/new; mv $M/open/other $M/aws/too",
        "mv $M/open/moved $M/aws/new; echo x >$M/open/more",
        "mv $M/open/moved $M/aws/new; echo x >$M/open/moved",
        "mv $M/open/moved $M/aws/new; kill -9 $DAEMON; fusermount3 -uz mnt; passdir mount mnt",
    ])
    func aRenameIsFollowed(_ change: String) throws {
        try withAgent(["commit.delay": "1h"]) { home, store, agent in
            try home.succeed(["sh", "-c", "echo other >mnt/work/open/other"])
            // Where other recipients apply, a rename encrypts anew.
            let other = try home.makeKey("b@example.org").fingerprint
            try home.succeed(["passdir", "recipients", "add", "work/aws", other, "--yes"])
            try home.succeed(["passdir", "sync"])
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            let daemon = try #require(home.daemons().first)
            try home.succeed(
                ["bash", "-ec", change],
                extra: ["M": home.mountPoint.appending("work").string, "DAEMON": "\(daemon)"])
            try home.succeed(["passdir", "sync"])
            let control = home.mountPoint.appending(".passdir").string
            for command in [
                "passdir show work/open/moved --at \(before)", "cat \(control)/at/\(before)/work/open/moved",
            ] {
                let result = try home.run([agent, "-c", "\(command); :"])
                #expect(
                    !result.output.contains("MARK"),
                    "\(command): \(try? store.git("log", "-1", "--format=%B"))")
                let free = try home.run(["sh", "-c", command])
                #expect(free.output == "MARK too\n", "\(command): \(free.errors)")
            }
        }
    }

    /// A rename that is not committed yet counts, too.
    @Test(arguments: [
        "mv $M/open/moved $M/aws/new", "mv $M/open/moved $M/aws/moved; echo x >$M/open/moved",
        "mv -f $M/open/moved $M/aws/key", "mv $M/open/moved $M/aws/new; echo x >$M/open/moved",
        "mv $M/open $M/aws/folder",
    ])
    func anUncommittedRenameIsFollowed(_ change: String) throws {
        try withAgent(["commit.delay": "1h"]) { home, store, agent in
            try home.succeed(["sh", "-c", "echo x >mnt/work/open/other"])
            // Where other recipients apply, a rename encrypts anew.
            let other = try home.makeKey("b@example.org").fingerprint
            try home.succeed(["passdir", "recipients", "add", "work/aws", other, "--yes"])
            try home.succeed(["passdir", "sync"])
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            try home.succeed(
                ["bash", "-ec", change], extra: ["M": home.mountPoint.appending("work").string])
            #expect(try store.git("rev-parse", "HEAD").filter(\.isHexDigit) == before, "it is not committed")
            let control = home.mountPoint.appending(".passdir").string
            for command in [
                "passdir show work/open/moved --at HEAD", "cat \(control)/at/HEAD/work/open/moved",
            ] {
                let result = try home.run([agent, "-c", "\(command); :"])
                #expect(!result.output.contains("MARK"), "\(command): \(result.output)")
                #expect(try home.run(["sh", "-c", command]).output == "MARK too\n", "\(command)")
            }
            let isMoved = change.contains("$M/open ")
            let kept = try home.run([agent, "-c", "passdir show work/open/other --at HEAD; :"])
            #expect(kept.output == (isMoved ? "" : "x\n"), "\(kept.errors)")
        }
    }

    /// Whoever started a command is judged as what they are when it has decrypted, too.
    @Test(arguments: ["--deny", "--ask"]) func whoBecomesAnotherProgramGetsNothing(_ outcome: String) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("a@example.org", passphrase: "secret")])
            try store.insert("a", "MARK\n")
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "access", "set", "work", outcome, "sleep"])
            try home.usePinentry(.block("secret"))
            // Whoever is asked about the other program says no.
            try home.succeed([
                "sed", "-i", "s/^    BYE)/    CONFIRM) echo 'ERR 83886179 no' ;;\\n&/", "pinentry",
            ])
            try home.write(
                """
                passdir show work/a >shown 2>said </dev/null &
                while [ ! -e prompts ]; do sleep 0.05; done
                exec sleep 100
                """, to: "starter")
            let script = """
                bash starter &
                for n in $(seq 400); do
                    case $(readlink /proc/$!/exe) in */sleep) break ;; esac
                    sleep 0.05
                done
                touch prompts.released
                for n in $(seq 400); do [ -s said ] || [ -s shown ] || sleep 0.05; done
                kill $!
                cat shown said
                """
            let shown = String(decoding: try home.succeed(["bash", "-c", script]), as: UTF8.self)
            #expect(shown.contains("access rules refuse") && !shown.contains("MARK"), "\(shown)")
            let log = try home.passdir("access", "log").output
            #expect(log.contains(outcome == "--deny" ? "denied" : "declined"), "\(log)")
            #expect(!log.contains("allowed") && !log.contains("agreed"), "\(log)")
            try home.unmount()
        }
    }

    /// Of a folder with a secret that may not be read nothing is moved or copied.
    @Test(.slow, arguments: ["mv", "cp"]) func aFolderIsMovedWholeOrNotAtAll(_ command: String) throws {
        try withAgent { home, store, agent in
            for name in ["folder/a", "folder/b", "folder/z"] { try store.insert(name, "text\n") }
            try home.succeed(["passdir", "access", "set", "work/folder/b", "--deny-under", "agent"])
            let head = try store.git("rev-parse", "HEAD")
            let tried = try home.run([agent, "-c", "passdir \(command) work/folder work/other; :"])
            #expect(tried.errors.contains("access rules refuse reading work/folder/b"), "\(tried)")
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(try home.run(["ls", home.visible("work/other").string]).exitCode != 0)
            let names = try home.run(["ls", home.visible("work/folder").string]).output
            #expect(names == "a\nb\nz\n")
            try home.succeed(["passdir", command, "work/folder", "work/other"])
            #expect(try home.run(["cat", home.visible("work/other/b").string]).output == "text\n")
        }
    }

    /// Holds:
    /// - A symbolic link that leads from a place with rules of who may read to one where these do not hold is shown but not
    ///   followed (EACCES).
    @Test func aLinkInAPlaceOfRulesLeadsNowhereElse() throws {
        try withAgent { home, store, agent in
            let folder = store.path.string
            try home.succeed([
                "sh", "-c",
                "cd \(folder) && git mv aws open/hidden && ln -s open/hidden aws && git add -A && git commit -qm push",
            ])
            for shell in [agent, "/bin/sh"] {
                let result = try home.run([shell, "-c", "cat \(home.visible("work/aws/key").string); :"])
                #expect(
                    result.output == "" && result.errors.contains("Permission denied"), "\(result.errors)")
            }
            #expect(
                try home.run(["sh", "-c", "echo new > \(home.visible("work/aws/new").string)"]).exitCode != 0)
            // Links within the place, and where there are no rules, are followed.
            try home.succeed(["passdir", "access", "unset", "work/aws"])
            #expect(try home.run(["cat", home.visible("work/aws/key").string]).output == "MARK\n")
            try home.succeed(["passdir", "access", "set", "work", "--deny-under", "agent"])
            #expect(try home.run(["cat", home.visible("work/aws/key").string]).output == "MARK\n")
            #expect(
                try home.run([agent, "-c", "cat \(home.visible("work/aws/key").string); :"]).output == "")
        }
    }
}
