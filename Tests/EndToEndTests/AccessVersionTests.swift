import SystemPackage
import TestKit
import Testing

/// By which rules older versions are judged, whatever became of the secret since.
@Suite struct AccessVersionTests {
    /// Gives `open` another secret and `aws` another reader, so that a rename from one to the other encrypts anew.
    /// - Returns: the commit that has both.
    private func withOtherRecipients(_ home: TestHome, _ store: TestStore) throws -> String {
        try home.succeed(["sh", "-c", "echo other >mnt/work/open/other"])
        let other = try home.makeKey("b@example.org").fingerprint
        try home.succeed(["passdir", "recipients", "add", "work/aws", other, "--yes"])
        try home.succeed(["passdir", "sync"])
        return try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
    }

    /// Commands that show the text of `open/moved` as it was do so, but for who runs below `agent`.
    private func expectShown(_ commands: [String], butNotTo agent: String, _ home: TestHome) throws {
        for command in commands {
            let result = try home.run([agent, "-c", "\(command); :"])
            #expect(!result.output.contains("MARK"), "\(command): \(result.output)")
            let free = try home.run(["sh", "-c", command])
            #expect(free.output == "MARK too\n", "\(command): \(free.errors)")
        }
    }

    /// A version is what the secret is that it became.
    @Test(.slow) func aFormerNameIsNoWayToAVersion() throws {
        try TestHome.withAgent { home, store, agent in
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
        try TestHome.withAgent { home, store, agent in
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
        try TestHome.withAgent(["commit.delay": "1h"]) { home, store, agent in
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
        try TestHome.withAgent(["commit.delay": "1h"]) { home, store, agent in
            let before = try withOtherRecipients(home, store)
            let daemon = try #require(home.daemons().first)
            try home.succeed(
                ["bash", "-ec", change],
                extra: ["M": home.mountPoint.appending("work").string, "DAEMON": "\(daemon)"])
            try home.succeed(["passdir", "sync"])
            let control = home.mountPoint.appending(".passdir").string
            try expectShown(
                [
                    "passdir show work/open/moved --at \(before)",
                    "cat \(control)/at/\(before)/work/open/moved",
                ], butNotTo: agent, home)
        }
    }

    /// A rename that is not committed yet counts, too.
    @Test(arguments: [
        "mv $M/open/moved $M/aws/new", "mv $M/open/moved $M/aws/moved; echo x >$M/open/moved",
        "mv -f $M/open/moved $M/aws/key", "mv $M/open/moved $M/aws/new; echo x >$M/open/moved",
        "mv $M/open $M/aws/folder",
    ])
    func anUncommittedRenameIsFollowed(_ change: String) throws {
        try TestHome.withAgent(["commit.delay": "1h"]) { home, store, agent in
            let before = try withOtherRecipients(home, store)
            try home.succeed(
                ["bash", "-ec", change], extra: ["M": home.mountPoint.appending("work").string])
            #expect(try store.git("rev-parse", "HEAD").filter(\.isHexDigit) == before, "it is not committed")
            let control = home.mountPoint.appending(".passdir").string
            try expectShown(
                [
                    "passdir show work/open/moved --at HEAD", "cat \(control)/at/HEAD/work/open/moved",
                ], butNotTo: agent, home)
            let isMoved = change.contains("$M/open ")
            let kept = try home.run([agent, "-c", "passdir show work/open/other --at HEAD; :"])
            #expect(kept.output == (isMoved ? "" : "other\n"), "\(kept.errors)")
        }
    }

    /// Of two renames, the name in between is no way to a version either.
    @Test func aNameInBetweenIsNoWay() throws {
        try TestHome.withAgent { home, store, agent in
            try store.insert("open/folder/s", "MARK\n")
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            for step in ["open/moved work/open/between", "open/between work/aws/now"] {
                try home.succeed(["sh", "-ec", "passdir mv work/\(step); passdir sync"])
            }
            for step in ["open/folder open/other", "open/other aws/folder"] {
                try home.succeed(["sh", "-ec", "git mv \(step); git commit -qm Move."], in: store.path)
            }
            for (name, now) in [("open/between", "aws/now"), ("open/other/s", "aws/folder/s")] {
                for command in ["show", "restore --show", "restore"] {
                    let words = "passdir \(command) work/\(name) --at \(before)"
                    let result = try home.run([agent, "-c", "\(words); :"])
                    #expect(
                        !result.output.contains("MARK") && result.errors.contains("work/\(now)"),
                        "\(words): \(result.output)\(result.errors)")
                }
                let shown = try home.passdir("show", "work/\(name)", "--at", before).output
                #expect(shown.hasPrefix("MARK"))
            }
        }
    }

    /// The ciphertext lies where no commit has it: git ignores the place, or it belongs to a repository inside the store.
    @Test(arguments: [
        "echo 'aws/*' >>.git/info/exclude; mv $M/open/moved $M/aws/new",
        "mkdir aws/inner; git init -q aws/inner; cp .gpg-id aws/inner; mv open/moved.gpg aws/inner/new.gpg",
    ])
    func whatNoCommitHoldsIsALaterName(_ change: String) throws {
        try TestHome.withAgent { home, store, agent in
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            let extra = ["M": home.mountPoint.appending("work").string]
            try home.succeed(["bash", "-ec", change + "; passdir sync || :"], in: store.path, extra: extra)
            #expect(try !store.git("ls-files").contains("moved.gpg"), "the removal is committed")
            let control = home.mountPoint.appending(".passdir").string
            try expectShown(
                [
                    "passdir show work/open/moved --at \(before)",
                    "cat \(control)/at/\(before)/work/open/moved",
                    "cat \(control)/history/work/open/moved/*",
                ], butNotTo: agent, home)
        }
    }

    /// A name that a secret had for a while is none of its names when it is back.
    @Test func whatCameBackHasItsOwnName() throws {
        try TestHome.withAgent { home, store, agent in
            let before = try store.git("rev-parse", "HEAD").filter(\.isHexDigit)
            for step in ["open/moved work/aws/moved", "aws/moved work/open/moved"] {
                try home.succeed(["sh", "-ec", "passdir mv work/\(step); passdir sync"])
            }
            try home.succeed(["sh", "-ec", "echo new >mnt/work/open/moved; passdir sync"])
            let control = home.mountPoint.appending(".passdir").string
            for command in [
                "passdir show work/open/moved --at \(before)", "cat \(control)/at/\(before)/work/open/moved",
            ] {
                let result = try home.run([agent, "-c", "\(command); :"])
                #expect(result.output == "MARK too\n", "\(command): \(result.errors)")
            }
        }
    }
}
