import Glibc
import SystemPackage
import TestKit
import Testing

/// `passdir recipients`: who can read what after a change, and that pass sees the same.
@Suite struct RecipientsTests {
    @Test(.slow) func everyPairGoesThereAndBack() throws {
        try Fixture.with { fixture in
            let keys = [fixture.ann, fixture.bob, fixture.cyd]
            let store = try fixture.home.makeStore("work", recipients: [fixture.ann])
            try fixture.home.addStores([store])
            try store.insert("a", "one")
            let file = store.path.appending("a.gpg")
            for first in keys {
                try fixture.recipients("set", "--yes", "work", first.fingerprint)
                for second in keys where second.fingerprint != first.fingerprint {
                    try fixture.recipients("add", "--yes", "work", second.address)
                    for key in keys {
                        let may =
                            key.fingerprint == first.fingerprint || key.fingerprint == second.fingerprint
                        #expect(try fixture.read(file, as: key) == (may ? "one" : nil))
                    }
                    let said = try fixture.recipients("remove", "--yes", "work", second.address)
                    #expect(said.contains("history") && said.contains("  a\n"))
                    for key in keys {
                        #expect(
                            try fixture.read(file, as: key)
                                == (key.fingerprint == first.fingerprint ? "one" : nil))
                    }
                }
            }
            #expect(try store.git("status", "--porcelain") == "")
            // Nothing is deleted from the keyring.
            #expect(try fixture.home.run(["gpg", "--list-keys", fixture.cyd.fingerprint]).exitCode == 0)
        }
    }

    @Test(.slow) func onlyWhatDiffersIsTouchedAndItIsOneCommit() throws {
        try Fixture.with { fixture in
            let store = try fixture.home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try fixture.home.addStores([store])
            try store.insert("a", "one")
            try store.insert("sub/b", "two")
            try store.pass(["init", "-p", "own", fixture.cyd.fingerprint])
            try store.insert("own/c", "three")
            let before = try store.git("rev-list", "--count", "HEAD")
            let (own, a) = (
                try fixture.home.bytes(at: store.path.appending("own/c.gpg")),
                try fixture.home.bytes(at: store.path.appending("a.gpg"))
            )
            // The same recipients in other words: nothing to encrypt, the file alone is committed.
            try fixture.recipients("set", "--yes", "work", "bob@example.org", fixture.ann.fingerprint)
            #expect(try fixture.home.bytes(at: store.path.appending("a.gpg")) == a)
            try fixture.recipients("remove", "--yes", "work", "bob@example.org")
            #expect(try fixture.home.bytes(at: store.path.appending("own/c.gpg")) == own)
            #expect(try fixture.home.bytes(at: store.path.appending("a.gpg")) != a)
            #expect(try store.git("rev-list", "--count", "HEAD") == "\(Int(before)! + 2)")
            let shown = try store.git("show", "--name-only", "--format=%s", "HEAD")
            #expect(
                shown == """
                    Reencrypt password store using new GPG id \(fixture.ann.fingerprint).

                    .gpg-id
                    a.gpg
                    sub/b.gpg
                    """)
            #expect(try store.git("status", "--porcelain") == "")
            #expect(
                try fixture.recipients("add", "--yes", "work", "ann@example.org").contains(
                    "nothing to change"))
            #expect(try fixture.recipients("show", "work/own").contains("cyd <cyd@example.org>"))
        }
    }

    @Test func aWrongKeyChangesNothing() throws {
        try Fixture.with { fixture in
            let store = try fixture.home.makeStore("work", recipients: [fixture.ann])
            try fixture.home.addStores([store])
            try store.insert("a", "one")
            let head = try store.git("rev-parse", "HEAD")
            let old = try fixture.home.makeExpiredKey("old@example.org")
            for name in ["nobody@example.org", old.fingerprint] {
                let result = try fixture.home.passdir("recipients", "add", "--yes", "work", name)
                #expect(result.exitCode == 1)
                #expect(result.errors.contains(name))
            }
            #expect(
                try fixture.home.passdir("recipients", "remove", "--yes", "work", "ann@example.org").exitCode
                    == 1)
            #expect(
                try fixture.home.passdir("recipients", "remove", "--yes", "work", "bob@example.org").exitCode
                    == 1)
            #expect(try store.git("rev-parse", "HEAD") == head)
            #expect(try store.git("status", "--porcelain") == "")
            #expect(
                try fixture.home.run(["ls", store.path.appending(".passdir-reencrypt").string]).exitCode != 0)
        }
    }

    /// Nothing is said of a change that is refused but why; what goes without a key here is told, too.
    @Test(.slow) func aChangeIsToldOnlyWhereItIsNotRefused() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let stores = try ["work", "other"].map {
                try home.makeStore($0, recipients: [fixture.ann, fixture.bob], remote: true)
            }
            for store in stores { try store.insert("a", "one") }
            try home.addStores(stores)
            let environment = ["GNUPGHOME": fixture.homeFolder(of: fixture.ann).string]
            func change(_ words: String...) throws -> ProgramResult {
                try home.run(["passdir", "recipients"] + words, extra: environment)
            }
            for store in stores {
                #expect(try change("confirm", store.path.lastComponent!.string, "--yes").exitCode == 0)
            }
            try home.succeed(["sh", "-c", "echo \(fixture.cyd.fingerprint) >> work/.gpg-id"])
            try stores[0].git("commit", "-qam", "Add Cyd")
            let refused = [
                ("have not approved it", try change("remove", "-y", "work", fixture.bob.fingerprint)),
                ("--lock-me-out", try change("remove", "-y", "other", fixture.ann.fingerprint)),
            ]
            for (reason, done) in refused {
                #expect(done.exitCode == 1 && done.output.isEmpty, "\(done)")
                #expect(done.errors.contains(reason), "\(done)")
                #expect(done.errors.filter(\.isNewline).count == 1, "\(done)")
            }
            try fixture.gpg(as: fixture.ann, ["--yes", "--delete-keys", fixture.bob.fingerprint])
            let planned = try change("remove", "other", fixture.bob.fingerprint, "-y", "--dry-run")
            #expect(planned.exitCode == 0, "\(planned)")
            #expect(planned.output.contains("- \(fixture.bob.fingerprint)"), "\(planned)")
        }
    }

    @Test(.slow) func whatNobodyHereCanReadStopsTheChange() throws {
        try Fixture.with { fixture in
            let store = try fixture.home.makeStore("work", recipients: [fixture.ann, fixture.bob])
            try fixture.home.addStores([store])
            try store.insert("a", "one")
            try fixture.home.succeed(
                ["gpg", "--batch", "--quiet", "-e", "-r", fixture.cyd.fingerprint, "-o", "work/foreign.gpg"],
                input: [1])
            let head = try store.git("rev-parse", "HEAD")
            let ids = try fixture.packets(store)
            let environment = ["GNUPGHOME": fixture.homeFolder(of: fixture.ann).string]
            let words = ["passdir", "recipients", "set", "--yes", "work", fixture.ann.fingerprint]
            let refused = try fixture.home.run(words, extra: environment)
            #expect(refused.exitCode == 1 && refused.errors.contains("foreign.gpg"))
            #expect(try fixture.packets(store) == ids)
            #expect(try store.git("rev-parse", "HEAD") == head)
            let skipped = try fixture.home.run(words + ["--skip-unreadable"], extra: environment)
            #expect(skipped.exitCode == 0)
            let after = try fixture.packets(store)
            #expect(after["./a.gpg"]?.count == 1 && after["./foreign.gpg"] == ids["./foreign.gpg"])
        }
    }

    /// `PASSDIR_SOAK` is the number of secrets (`scripts/soak compare COUNT`).
    @Test(.slow) func passAndPassdirLeaveTheSameRecipients() throws {
        let count = getenv("PASSDIR_SOAK").flatMap { Int(String(cString: $0)) } ?? 60
        try Fixture.with { fixture in
            let folders = ["top", "top/mid", "top/mid/low", "top/own", "top/own/below", "side"]
            let home = fixture.home
            let store = try home.makeStore("one", recipients: [fixture.ann])
            try fixture.fill(store, folders: folders, count: count, for: fixture.ann)
            try store.pass(["init", "-p", "top/own", fixture.ann.fingerprint, fixture.cyd.fingerprint])
            // Symbolic links, to a secret and to a folder.
            try home.succeed(["ln", "-s", "s0.gpg", "top/link.gpg"], in: store.path)
            try home.succeed(["ln", "-s", "../side", "top/folder"], in: store.path)
            try store.git("add", "-A")
            try store.git("commit", "--quiet", "-m", "Links.")
            try home.succeed(["cp", "-a", "one", "two"])
            let other = TestStore(home: home, path: home.path("two"), remote: nil)
            try home.addStores([store])
            #expect(try fixture.packets(store) == fixture.packets(other))

            for keys in [
                [fixture.ann, fixture.bob], [fixture.bob, fixture.ann, fixture.cyd], [fixture.ann],
            ] {
                let ids = keys.map(\.fingerprint)
                try other.pass(["init", "-p", "top"] + ids)
                try home.succeed(["passdir", "recipients", "set", "--yes", "one/top"] + ids)
                #expect(try fixture.packets(store) == fixture.packets(other))
                #expect(try home.bytes(of: "one/top/.gpg-id") == home.bytes(of: "two/top/.gpg-id"))
                #expect(
                    try store.git("log", "-1", "--format=%s")
                        == "Reencrypt password store using new GPG id \(ids.joined(separator: ", ")) (top).")
                #expect(try store.git("status", "--porcelain") == "")
            }
            // Each accepts the other's result: nothing is left to do.
            let again = String(
                decoding: try store.pass(["init", "-p", "top", fixture.ann.fingerprint]), as: UTF8.self)
            #expect(!again.contains("reencrypting"))
            try home.succeed(["sh", "-c", "rm -rf one.bak; mv one one.bak; mv two one"])
            #expect(
                try fixture.recipients("set", "--yes", "one/top", fixture.ann.fingerprint).contains(
                    "nothing to change"))
            #expect(try home.run(["readlink", "one/top/link.gpg"]).output == "s0.gpg\n")
        }
    }
}
