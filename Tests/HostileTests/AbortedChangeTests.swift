import Glibc
import SystemPackage
import TestKit
import Testing

/// What is in a store after a change of recipients that was interrupted, whatever was done to it meanwhile.
@Suite struct AbortedChangeTests {
    /// A change that stops at its commit because git holds a lock.
    private func interruptByLock(_ shared: SharedStore, _ words: [String]) throws {
        let lock = shared.store.path.appending(".git/index.lock").string
        try shared.home.succeed(["touch", lock])
        let result = try shared.run(["recipients"] + words + ["--yes"])
        #expect(result.exitCode == 1, "\(result.errors)")
        try shared.home.succeed(["rm", lock])
    }

    /// A change that is killed right before its commit.
    private func interrupt(_ shared: SharedStore, _ words: [String]) throws {
        let killed = try shared.home.run(
            ["passdir", "recipients"] + words + ["--yes"], extra: ["PASSDIR_FAULT": "recipients.placed"])
        #expect(killed.exitCode == 128 + SIGKILL, "\(killed.errors)")
    }

    private func tip(_ shared: SharedStore, _ path: String) throws -> Bool {
        try !shared.store.git("ls-tree", "HEAD", path).isEmpty
    }

    /// Holds:
    /// - After `recipients abort` nothing in the store is for a key that only the change would have added, whatever was
    ///   renamed, edited, copied or newly saved meanwhile, and nothing of that is committed before.
    @Test(.slow) func nothingThatWasTouchedMeanwhileStaysForTheRejectedKey() throws {
        try SharedStore.with { shared in
            let (home, store) = (shared.home, shared.store)
            for name in ["c", "d/e", "d/f", "x", "y"] { try store.insert(name, "text of \(name)") }
            // For Bob before the change: that is not the change's to take back.
            try home.succeed(
                [
                    "gpg", "--batch", "-q", "--trust-model", "always", "-e", "-r", shared.ann.fingerprint,
                    "-r", shared.bob.fingerprint, "-o", "work/both.gpg",
                ], input: Array("both".utf8))
            try store.git("add", "-A")
            try store.git("commit", "-qm", "Both.")
            try store.git("push", "-q")
            let both = try home.bytes(at: store.path.appending("both.gpg"))
            try home.mount()
            try interruptByLock(shared, ["add", "work", shared.bob.fingerprint])
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    cd mnt/work
                    mv c cc; echo new >a; mv d dd; echo more >new; mv both moved; cp ../../work/y.gpg ../../work/z.gpg
                    """,
                ])
            try home.succeed(
                ["pass", "insert", "-m", "sub/inserted"], input: Array("inserted".utf8),
                extra: [
                    "PASSWORD_STORE_DIR": store.path.string,
                    "PASSWORD_STORE_GPG_OPTS": "--trust-model always",
                ])
            let synced = try shared.run(["sync", "work"])
            #expect(synced.exitCode == 1 && synced.errors.contains("recipients"), "\(synced.errors)")
            for path in ["cc.gpg", "new.gpg", "dd/e.gpg"] { #expect(try !tip(shared, path), "\(path)") }
            let aborted = try shared.run(["recipients", "abort", "work"])
            #expect(aborted.exitCode == 0, "\(aborted.errors)")
            #expect(aborted.output.contains("re-encrypted, as"), "\(aborted.output)")
            #expect(try shared.secrets(for: shared.bob) == ["./moved.gpg"])
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
            #expect(try home.bytes(at: store.path.appending("moved.gpg")) == both)
            for (name, text) in [
                ("cc", "text of c"), ("a", "new\n"), ("dd/e", "text of d/e"), ("dd/f", "text of d/f"),
                ("new", "more\n"), ("sub/inserted", "inserted"), ("x", "text of x"), ("z", "text of y"),
            ] {
                #expect(String(decoding: try store.show(name), as: UTF8.self) == text, "\(name)")
                #expect(try store.recipientKeyIDs(of: name).count == 1, "\(name)")
            }
            #expect(
                try store.git("rev-parse", "HEAD")
                    == store.git("--git-dir", store.remote!.string, "rev-parse", "HEAD"))
        }
    }

    /// What no key here decrypts is named, is not committed, and ends with the command that is named.
    @Test(.slow, arguments: ["put back", "leave"]) func whatCannotBeEncryptedAgainIsNamedAndNotCommitted(
        _ end: String
    )
        throws
    {
        try SharedStore.with { shared in
            let (home, store) = (shared.home, shared.store)
            try home.mount()
            try interrupt(shared, ["set", "work", shared.bob.fingerprint, "--lock-me-out"])
            // The mount refuses to save what its user could not read; others do not.
            try home.succeed(
                [
                    "gpg", "--batch", "-q", "--trust-model", "always", "-e", "-r", shared.bob.fingerprint,
                    "-o", "work/new.gpg",
                ], input: Array("lost".utf8))
            try home.succeed(["mv", "mnt/work/a", "mnt/work/aa"])
            for _ in 0..<2 {
                let aborted = try shared.run(["recipients", "abort", "work"])
                #expect(
                    aborted.exitCode == 1 && aborted.errors.contains("new.gpg")
                        && aborted.errors.contains("passdir recipients abort work --skip-unreadable"),
                    "\(aborted.errors)")
                #expect(!aborted.errors.contains("aa.gpg"), "\(aborted.errors)")
            }
            #expect(try home.text(of: "work/.gpg-id") == shared.ann.fingerprint + "\n")
            #expect(try store.recipientKeyIDs(of: "aa").count == 1)
            let resumed = try shared.run(["recipients", "resume", "work", "--yes"])
            #expect(resumed.exitCode == 1 && resumed.errors.contains("abort work"), "\(resumed.errors)")
            #expect(try home.passdir("status").output.contains("abort work"))
            let synced = try shared.run(["sync", "work"])
            #expect(synced.exitCode == 1 && synced.errors.contains("abort work"), "\(synced.errors)")
            #expect(try !tip(shared, "new.gpg") && tip(shared, "aa.gpg"))
            if end == "put back" {
                try home.succeed(["rm", "mnt/work/new"])
                try shared.succeed(["recipients", "abort", "work"])
            } else {
                try shared.succeed(["recipients", "abort", "work", "--skip-unreadable"])
            }
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            try home.unmount()
            #expect(try shared.secrets(for: shared.bob) == (end == "leave" ? ["./new.gpg"] : []))
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    /// Holds:
    /// - What is said at the end of an interrupted change is so, whatever git did to the files meanwhile.
    @Test(
        .slow,
        arguments: sampled([
            "git stash -q", "git checkout -q .", "rm .gpg-id", "git clean -qfdx; git checkout -q .",
            "rm .gpg-id a.gpg", "echo $EVE >.gpg-id",
        ]))
    func whatAbortSaysIsSo(_ script: String) throws {
        try SharedStore.with { shared in
            let (home, store) = (shared.home, shared.store)
            try interrupt(shared, ["add", "work", shared.bob.fingerprint])
            try home.succeed(
                ["sh", "-ec", script], in: store.path, extra: ["EVE": shared.eve.fingerprint])
            let head = try store.git("rev-parse", "HEAD")
            let aborted = try shared.run(["recipients", "abort", "work"])
            #expect(aborted.exitCode == 0, "\(aborted.errors)")
            #expect(!aborted.output.contains("already complete"), "\(aborted.output)")
            #expect(aborted.output.contains("stash") == script.contains("stash"), "\(aborted.output)")
            let isForeign = script.contains("EVE")
            #expect(
                aborted.output.contains("everything is as it was")
                    != (isForeign || script.contains("stash")), "\(aborted.output)")
            #expect(aborted.output.contains(".gpg-id") == isForeign, "\(aborted.output)")
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(
                try home.text(of: "work/.gpg-id")
                    == (isForeign ? shared.eve.fingerprint : shared.ann.fingerprint) + "\n")
            #expect(try shared.secrets(for: shared.bob) == [])
        }
    }

    /// Holds:
    /// - `recipients resume` says that the change is made only when it is.
    @Test(
        .slow,
        arguments: sampled([
            "git stash -q", "git checkout -q .", "git checkout -q a.gpg", "rm .gpg-id",
            "git checkout -q .gpg-id",
        ]))
    func whatIsResumedIsMade(_ script: String) throws {
        try SharedStore.with { shared in
            let (home, store) = (shared.home, shared.store)
            try interrupt(shared, ["add", "work", shared.bob.fingerprint])
            try home.succeed(["sh", "-ec", script], in: store.path)
            let resumed = try shared.run(["recipients", "resume", "work", "--yes"])
            if script == "rm .gpg-id" {
                #expect(resumed.exitCode == 1 && resumed.errors.contains("abort"), "\(resumed.errors)")
                return
            }
            #expect(resumed.exitCode == 0 && !resumed.output.contains("others"), "\(resumed)")
            #expect(try home.text(of: "work/.gpg-id").contains(shared.bob.fingerprint))
            #expect(try shared.secrets(for: shared.bob) == ["./a.gpg", "./sub/b.gpg"])
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    /// The advice is a command that helps.
    @Test func theAdviceAboutAMissingListHelps() throws {
        try SharedStore.with { shared in
            let (home, store) = (shared.home, shared.store)
            try home.mount()
            try home.succeed(["rm", "work/.gpg-id"])
            let synced = try shared.run(["sync", "work"])
            let advice = "git -C \(store.path) checkout .gpg-id"
            #expect(synced.exitCode == 1 && synced.errors.contains(advice), "\(synced.errors)")
            #expect(synced.errors.contains("pass init KEY"))
            try home.succeed(["sh", "-c", advice])
            #expect(try shared.succeed(["sync", "work"]) == "work: in sync\n")
            try home.unmount()
        }
    }
}
