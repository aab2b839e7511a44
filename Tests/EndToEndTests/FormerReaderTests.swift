import FoundationEssentials
import Glibc
import SystemPackage
import TestKit
import Testing

/// What somebody could read until a change of recipients, as `passdir health` lists it.
@Suite struct FormerReaderTests {
    private struct Report: Decodable {
        struct Reader: Decodable {
            let key: String
            let userID: String
            let exposed: [String]
            let rotated: [String]
        }
        struct Secret: Decodable {
            let name: String
            let exposedTo: [String]
        }
        let secrets: [Secret]
        let formerReaders: [Reader]
    }

    private func readers(_ home: TestHome, _ words: String...) throws -> [String: Report.Reader] {
        let done = try home.run(["passdir", "health", "--json"] + words)
        #expect(!done.output.contains("MARK") && !done.errors.contains("MARK"), "\(done)")
        let report = try JSONDecoder().decode(Report.self, from: Data(done.output.utf8))
        for secret in report.secrets {
            let names = report.formerReaders.filter { $0.exposed.contains(secret.name) }.map(\.userID)
            #expect(secret.exposedTo.sorted() == names.sorted(), "\(secret)")
        }
        return Dictionary(uniqueKeysWithValues: report.formerReaders.map { ($0.key, $0) })
    }

    /// A key of somebody else, of which only the public part is here.
    private func makeOther(_ home: TestHome, _ address: String) throws -> TestKey {
        let key = try home.makeKey(address)
        let bytes = try home.succeed(["gpg", "--export", key.fingerprint])
        try home.deleteKey(key)
        try home.succeed(["gpg", "--batch", "--import"], input: bytes)
        try home.succeed(
            ["gpg", "--batch", "--import-ownertrust"], input: Array("\(key.fingerprint):6:\n".utf8))
        return key
    }

    private func state(_ home: TestHome) throws -> String {
        let rows = "SELECT count(*) FROM storeState WHERE name = 'formerReaders'"
        let file = home.path("state/passdir/state.sqlite").string
        return String(decoding: try home.succeed(["sqlite3", file, rows]), as: UTF8.self)
    }

    private func text(_ name: String, _ rest: String = "") -> String {
        "MARK-vX9#\(name)-q2!mZ7$kTw\n\(rest)"
    }

    /// Holds:
    /// - A secret leaves the list when its password was changed, whatever else happened to it.
    @Test(.slow) func onlyAnotherPasswordEndsIt() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("ann@example.org"), try makeOther(home, "bob@example.org"))
            let cyd = try makeOther(home, "cyd@example.org")
            let store = try home.makeStore("work", recipients: [ann, bob])
            try home.addStores([store])
            for name in ["edited", "new", "moved", "sub/gone"] { try store.insert(name, text(name)) }
            try store.insert("key", "-----BEGIN MARK-----\nold\n")
            try store.pass(["init", "-p", "own", ann.fingerprint])
            try store.insert("own/never", text("never"))
            try home.succeed(["passdir", "recipients", "remove", "work", bob.fingerprint, "--yes"])
            let all = ["work/edited", "work/key", "work/moved", "work/new", "work/sub/gone"]
            var found = try readers(home)
            #expect(found.count == 1 && found[bob.fingerprint]?.userID == "bob <bob@example.org>")
            #expect(found[bob.fingerprint]?.exposed == all && found[bob.fingerprint]?.rotated == [])

            try store.insert("edited", text("edited", "user: me\n"))
            try store.insert("new", text("other"))
            try store.insert("key", "-----BEGIN MARK-----\nnew\n")
            try home.succeed(["passdir", "mv", "work/moved", "work/elsewhere"])
            try home.succeed(["passdir", "rm", "-f", "work/sub/gone"])
            // Encrypted again, by passdir and by pass.
            try home.succeed(["passdir", "recipients", "add", "work", cyd.fingerprint, "--yes"])
            try store.pass(["init", ann.fingerprint])
            // Without a look into texts nothing is taken for changed.
            #expect(try readers(home, "--names-only")[bob.fingerprint]?.rotated == [])
            found = try readers(home)
            #expect(found[bob.fingerprint]?.exposed == ["work/edited", "work/elsewhere"])
            #expect(found[bob.fingerprint]?.rotated == ["work/key", "work/new", "work/sub/gone"])
            let names = try readers(home, "--names-only")
            #expect(names[bob.fingerprint]?.exposed == ["work/edited", "work/elsewhere"])
            let page = home.path("page.html").string
            let told = try home.passdir("health", "--html", page)
            #expect(told.exitCode == 1 && told.output.contains("may still know 2 of 5 secrets"), "\(told)")
            #expect(told.output.contains("exposed (bob <bob@example.org>)"), "\(told)")
            let html = try #require(SystemFile.text(page))
            let said = "<bdi>work/edited</bdi> – known to <bdi>bob &lt;bob@example.org&gt;</bdi>"
            #expect(html.contains(said), "\(html)")
            for name in ["edited", "elsewhere"] {
                try home.succeed(["passdir", "generate", "--in-place", "work/\(name)"])
            }
            #expect(try readers(home).isEmpty)
            #expect(try state(home) == "0\n")
            #expect(try home.passdir("health").exitCode == 0)
        }
    }

    /// Holds:
    /// - A copy of what they know counts as well, each name once.
    @Test(.slow) func copiesCountAndEachNameOnce() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("ann@example.org"), try makeOther(home, "bob@example.org"))
            let store = try home.makeStore("work", recipients: [ann, bob])
            try home.addStores([store])
            for name in ["a", "b"] { try store.insert(name, text("shared")) }
            for name in ["c", "d"] { try store.insert(name, text(name)) }
            try home.succeed(["passdir", "recipients", "remove", "work", bob.fingerprint, "--yes"])
            try home.succeed(["passdir", "mv", "work/c", "work/moved"])
            try home.succeed(["passdir", "cp", "work/d", "work/copied"])
            var found = try readers(home)[bob.fingerprint]
            #expect(found?.exposed == ["work/a", "work/b", "work/copied", "work/d", "work/moved"])
            // The other name of the one that was changed is listed by itself already.
            try store.insert("a", text("new"))
            try store.insert("d", text("newer"))
            found = try readers(home)[bob.fingerprint]
            #expect(found?.exposed == ["work/b", "work/copied", "work/moved"])
            #expect(found?.rotated == ["work/a", "work/d"])
            let told = try home.passdir("health")
            #expect(told.output.contains("may still know 3 of 5 secrets"), "\(told)")
            for name in ["b", "copied", "moved"] {
                try home.succeed(["passdir", "generate", "--in-place", "work/\(name)"])
            }
            #expect(try readers(home).isEmpty)
        }
    }

    /// Holds:
    /// - A saved `.gpg-id` counts, and a change that was killed and resumed; whoever may read again is not listed, and a removed
    ///   store's list is forgotten.
    @Test(.slow) func everyWayToRemoveCounts() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("ann@example.org"), try makeOther(home, "bob@example.org"))
            let cyd = try makeOther(home, "cyd@example.org")
            let store = try home.makeStore("work", recipients: [ann, bob, cyd])
            try home.addStores([store])
            for name in ["a", "sub/b"] { try store.insert(name, text(name)) }
            try home.mount()
            try home.succeed([
                "sh", "-c",
                "printf '%s\\n' \(ann.fingerprint) \(cyd.fingerprint) > \(home.visible("work/.gpg-id"))",
            ])
            try home.unmount()
            #expect(try readers(home)[bob.fingerprint]?.exposed == ["work/a", "work/sub/b"])
            let remove = ["passdir", "recipients", "remove", "work", cyd.fingerprint, "--yes"]
            let killed = try home.run(remove, extra: ["PASSDIR_FAULT": "recipients.placed"])
            #expect(killed.exitCode == 128 + SIGKILL)
            #expect(try readers(home)[cyd.fingerprint] == nil)
            try home.succeed(["passdir", "recipients", "resume", "work", "--yes"])
            try store.insert("a", text("new"))
            for key in [bob, cyd] {
                let reader = try readers(home)[key.fingerprint]
                #expect(reader?.exposed == ["work/sub/b"] && reader?.rotated == ["work/a"], "\(key)")
            }
            try home.succeed(["passdir", "recipients", "add", "work", bob.fingerprint, "--yes"])
            #expect(try readers(home)[bob.fingerprint]?.exposed == [])
            try home.succeed(["passdir", "recipients", "remove", "work", bob.fingerprint, "--yes"])
            #expect(try readers(home)[bob.fingerprint]?.exposed == ["work/a", "work/sub/b"])
            #expect(try state(home) == "1\n")
            try home.succeed(["passdir", "store", "remove", "work", "--yes"])
            #expect(try state(home) == "0\n")
        }
    }

    /// Holds:
    /// - Without git, a later save of the file counts.
    @Test func withoutGitALaterSaveCounts() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("ann@example.org"), try makeOther(home, "bob@example.org"))
            let store = try home.makeStore("work", recipients: [ann, bob], git: false)
            try home.addStores([store])
            for name in ["a", "b"] { try store.insert(name, text(name)) }
            try home.succeed(["passdir", "recipients", "remove", "work", bob.fingerprint, "--yes"])
            #expect(try readers(home)[bob.fingerprint]?.exposed == ["work/a", "work/b"])
            try store.insert("a", text("new"))
            try home.succeed(["touch", "-d", "1 minute", home.path("work/a.gpg").string])
            #expect(try readers(home)[bob.fingerprint]?.exposed == ["work/b"])
        }
    }

    /// A save on a machine that has not heard of a removal yet: who syncs is told, and what to do, until that is done.
    @Test(.slow) func whoSyncsIsToldWhatAFormerReaderStillReads() throws {
        try TestHome.guarded { home in
            let (ann, bob) = (try home.makeKey("ann@example.org"), try makeOther(home, "bob@example.org"))
            let store = try home.makeStore("work", recipients: [ann, bob])
            try store.insert("mail", "one\n")
            try home.succeed([
                "git", "clone", "-q", "--bare", store.path.string, home.path("work.git").string,
            ])
            try store.git("remote", "add", "origin", home.path("work.git").string)
            try store.git("fetch", "-q")
            try store.git("branch", "-q", "-u", "origin/main")
            let other = home.path("other")
            try home.succeed(["git", "clone", "-q", home.path("work.git").string, other.string])
            try home.addStores([store])
            try home.succeed(["passdir", "recipients", "remove", "work", bob.fingerprint, "--yes"])
            try home.succeed(
                ["pass", "insert", "-m", "late"], input: Array("two\n".utf8),
                extra: ["PASSWORD_STORE_DIR": other.string])
            // Merged there, so that here the branch only moves forward.
            try home.succeed(["git", "pull", "-q", "--no-rebase"], in: other)
            try home.succeed(["git", "push", "-q"], in: other)

            let synced = try home.passdir("sync")
            #expect(synced.exitCode == 1)
            #expect(
                synced.errors
                    == "passdir: work: not encrypted to exactly its recipients since a merge: late; "
                    + "passdir recipients check work --fix re-encrypts it\n")
            #expect(synced.output == "work: in sync, with 1 secret to re-encrypt\n")
            #expect(try home.passdir("sync", "--json").output.contains("\"drift\":[\"late\"]"))
            #expect(try home.passdir("status").output.contains("since a merge: late;"))
            try home.succeed(["passdir", "recipients", "check", "work", "--fix", "--yes"])
            let again = try home.passdir("sync")
            #expect(again.exitCode == 0 && again.errors.isEmpty, "\(again)")
            #expect(try !home.passdir("status").output.contains("since a merge"))
        }
    }
}
