import SystemPackage
import TestKit
import Testing

/// `readOnly = true` holds for commands, too: none of them changes such a store, and each says why.
@Suite struct ReadOnlyStoreTests {
    private static let sentence =
        "passdir: the store \"work\" is read-only: passdir store set work readOnly false allows changes\n"
    private static let conflict = "work/a.conflict-host-20260102T030405Z"

    @Test func noCommandWritesIntoIt() throws {
        try Fixture.with { fixture in
            let home = fixture.home
            let store = try home.makeStore("work", recipients: [fixture.ann], remote: true)
            try home.addStores([store])
            try store.insert("a", "one")
            let first = try store.git("rev-parse", "HEAD")
            try store.insert("a", "two")
            try store.insert("a.conflict-host-20260102T030405Z", "other")
            try store.insert("sub/b", "three")
            // For others than its list says, so that `check --fix` has work.
            try store.pass(["init", "-p", "sub", fixture.bob.fingerprint])
            try home.write("\(fixture.ann.fingerprint)\n", to: "work/sub/.gpg-id")
            try store.git("commit", "-qam", "Drift.")
            try store.git("push", "-q")
            try fixture.recipients("confirm", "work", "--yes")
            try home.succeed(["passdir", "store", "set", "work", "readOnly", "true"])
            let before = try state(of: store)
            for words in rows(fixture) {
                let result = try home.run(["passdir"] + words)
                #expect(result.exitCode == 1 && result.errors == Self.sentence, "\(words): \(result)")
                #expect(try state(of: store) == before, "\(words)")
            }
            // Looking is allowed.
            for words in [
                "list work", "log work/a", "recipients show work", "recipients settle work", "conflicts",
                "keys work",
                "recipients add work \(fixture.cyd.fingerprint) --dry-run", "recipients confirm work",
            ] {
                try home.succeed(["passdir"] + words.split(separator: " ").map(String.init))
            }
            #expect(
                try home.passdir("recipients", "check", "work").output.contains(
                    "work/sub/b: not encrypted to"))
            #expect(try state(of: store) == before)
            // And the advice helps.
            try home.succeed(["passdir", "store", "set", "work", "readOnly", "false"])
            try home.succeed(["passdir", "restore", "work/a", "--at", first])
            #expect(try String(decoding: store.show("a"), as: UTF8.self) == "one")
        }
    }

    /// Every command that writes into a store.
    private func rows(_ fixture: Fixture) -> [[String]] {
        let rows = [
            "restore work/a --at HEAD~1",
            "recipients add work \(fixture.cyd.fingerprint) --yes",
            "recipients add work/sub \(fixture.cyd.fingerprint) --yes",
            "recipients remove work/sub \(fixture.ann.fingerprint) --yes --lock-me-out",
            "recipients set work/sub \(fixture.bob.fingerprint) --yes --lock-me-out",
            "recipients resume work --yes",
            "recipients abort work",
            "recipients check work --fix --yes --json",
            "recipients settle work --merged",
            "recipients settle work --ours",
            "recipients settle work --theirs",
            "conflicts settle \(Self.conflict) --keep conflict",
            "conflicts settle \(Self.conflict) --keep named",
            "keys export work",
        ]
        return rows.map { $0.split(separator: " ").map(String.init) }
    }

    /// The commits here and on the remote, and every file of the store.
    private func state(of store: TestStore) throws -> String {
        let files = try store.home.succeed(
            ["sh", "-c", "find . -path ./.git -prune -o -type f -exec sha256sum {} + | LC_ALL=C sort"],
            in: store.path)
        return try store.git("rev-parse", "HEAD") + store.remoteGit("rev-parse", "main")
            + store.git("status", "--porcelain") + String(decoding: files, as: UTF8.self)
    }
}
