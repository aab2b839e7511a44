import SystemPackage
import TestKit
import Testing

@Suite struct HistoryCommandTests {
    private func lines(_ home: TestHome, _ words: String...) throws -> [String] { try lines(home, words) }

    private func lines(_ home: TestHome, _ words: [String]) throws -> [String] {
        String(decoding: try home.succeed(["passdir"] + words), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    @Test(.slow) func logShowsAStoreAndASecret() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            try store.insert("mail/imap", "one\n")
            try store.insert("other", "text\n")
            try store.insert("mail/imap", "two\n")
            try store.pass(["mv", "mail/imap", "post"])
            try home.addStores([store])
            let all = try lines(home, "log", "work")
            #expect(all.count == 6 && all[0].hasSuffix("Rename mail/imap to post."))
            // Followed through the rename.
            let secret = try lines(home, "log", "work/post")
            #expect(secret.map { $0.hasSuffix("for mail/imap to store.") } == [false, true, true])
            #expect(try lines(home, "log", "work", "-n", "1").count == 1)
            let ages = try lines(home, "log", "--ages", "work")
            #expect(ages.count == 2 && ages.contains { $0.hasSuffix("  post") })
            // Also a folder that is gone.
            try store.insert("gone/x", "one\n")
            try store.pass(["rm", "-rf", "gone"])
            #expect(try lines(home, "log", "work/gone").count == 2)
            let missing = try home.passdir("log", "work/nothing")
            #expect(missing.exitCode == 1 && missing.errors.contains("no commit has changed work/nothing"))
            #expect(try home.passdir("log", "nostore").exitCode == 1)
        }
    }

    /// Holds:
    /// - `log --since` tells of commits made since then, in text and in JSON, of one secret, of all stores and with `--ages`.
    @Test(.slow) func logBeginsAtATime() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            for (name, hours) in [("old", 48), ("mid", 3), ("new", 1)] {
                let date = String(
                    decoding: try home.succeed(["date", "-d", "-\(hours) hours", "+%s"]), as: UTF8.self
                )
                .filter { !$0.isNewline }
                try home.succeed(
                    ["pass", "insert", "-mf", name], input: Array("text\n".utf8),
                    extra: [
                        "PASSWORD_STORE_DIR": store.path.string, "GIT_AUTHOR_DATE": "@\(date) +0000",
                        "GIT_COMMITTER_DATE": "@\(date) +0000",
                    ])
            }
            // What a rename hides is found, and no more.
            try store.pass(["mv", "old", "moved"])
            try home.addStores([store])
            func told(_ words: String...) throws -> [Substring?] {
                let done = try home.run(["passdir", "log"] + words)
                #expect(done.exitCode == 0 && done.errors.isEmpty, "\(words): \(done)")
                return done.output.split(separator: "\n").map { line in
                    line.firstMatch(of: /for (\w+) to store|(Rename)|  (\w+)$/).map {
                        $0.1 ?? $0.2 ?? $0.3 ?? ""
                    }
                }
            }
            #expect(try told("--since", "2h") == ["Rename", "new"])
            #expect(try told("work", "--since=4h") == ["Rename", "new", "mid"])
            #expect(try told("work", "--since", "4h", "-n", "2") == ["Rename", "new"])
            #expect(try told("work/moved", "--since", "2h") == ["Rename"])
            #expect(try told("work/moved", "--since", "3 days ago") == ["Rename", "old"])
            #expect(try told("work/new", "--since", "30m") == [])
            #expect(try told("--ages", "--since", "4h") == ["mid", "new"])
            let json = try home.passdir("log", "work/mid", "--json", "--since", "4h")
            #expect(json.output.contains(#""subject":"Add given password for mid to store.""#), "\(json)")
            #expect(try home.passdir("log", "work/mid", "--json", "--since", "2h").output == "[]\n")
            #expect(try home.passdir("log", "work/none", "--since", "2h").exitCode == 1)
            #expect(try home.passdir("log", "--since", "nothing").exitCode == 64)
        }
    }

    /// Each line is there as soon as it is known, and nothing is read behind the last one that is wanted.
    @Test(.slow) func theFirstLinesWaitForNoOthers() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            for text in ["one", "two", "three"] { try store.insert("a", text) }
            try home.addStores([store])
            // Where reading on fails, it is seen what was read.
            let old = try store.git("rev-parse", "HEAD~2^{tree}").filter { !$0.isNewline }
            try home.succeed(["rm", "-f", "work/.git/objects/\(old.prefix(2))/\(old.dropFirst(2))"])
            #expect(try lines(home, "log", "work/a", "-n", "1").count == 1)
            let broken = try home.passdir("log", "work/a")
            #expect(broken.exitCode == 1 && broken.errors.contains("cannot read the history"), "\(broken)")
            #expect(broken.output.split(separator: "\n").count == 1, "\(broken)")
        }
    }

    @Test(.slow) func restoreBringsAnOldContentBack() throws {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("a/b", "one\n")
            try store.insert("a/b", "two\n")
            try store.pass(["rm", "-f", "a/b"])
            try home.addStores([store])
            try lines(home, "restore", "work/a/b", "--at", "HEAD~2").forEach { Issue.record("\($0)") }
            #expect(try store.show("a/b") == Array("one\n".utf8))
            #expect(try store.git("status", "--porcelain") == "")
            #expect(try store.git("rev-parse", "HEAD") == store.remoteGit("rev-parse", "main"))
            // With a mount, too, and for today's recipients.
            let second = try home.makeKey("two@example.org")
            try store.pass(["init", "one@example.org", second.fingerprint])
            // The store has a remote: the new key might as well have come from there.
            try home.succeed(["passdir", "recipients", "confirm", "work", "--yes"])
            try home.mount()
            try lines(home, "restore", home.mountPoint.pushing("work/a/b").string, "--at", "HEAD~2")
                .forEach { Issue.record("\($0)") }
            #expect(
                try home.succeed(["cat", home.mountPoint.pushing("work/a/b").string]) == Array("one\n".utf8))
            #expect(try store.recipientKeyIDs(of: "a/b").count == 2)
            #expect(try home.passdir("status").output.contains(" push  "))
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
            let unknown = try home.passdir("restore", "work/a/b", "--at", "nonsense")
            #expect(unknown.exitCode == 1 && unknown.errors.contains("nonsense"))
        }
    }

    /// After all of a store was removed there is no folder left to name.
    @Test(.slow) func aWholeStoreIsRestored() throws {
        try TestHome.with { home in
            let store = try home.makeStore("private", recipients: [try home.makeKey("one@example.org")])
            try store.insert("a", "one\n")
            try store.insert("b/c", "two\n")
            try store.insert("b/c", "three\n")
            try store.pass(["rm", "-f", "a"])
            try store.pass(["rm", "-rf", "b"])
            try store.insert("new", "stays\n")
            try home.addStores([store])
            let then = try store.git("rev-parse", "HEAD~3").filter { !$0.isNewline }
            for _ in 0..<2 {
                // What is as it was is neither restored nor told of.
                let done = try home.passdir("restore", "private", "--at", then)
                #expect(done.exitCode == 0 && done.errors.isEmpty, "\(done)")
                #expect(try store.show("a") == Array("one\n".utf8))
                #expect(try store.show("b/c") == Array("three\n".utf8))
                #expect(try store.show("new") == Array("stays\n".utf8))
                #expect(try store.git("status", "--porcelain") == "")
                #expect(try store.git("log", "-1", "--format=%s").hasPrefix("Restore private as of "))
                let commits = try store.git("log", "--stat")
                #expect(try store.git("rev-list", "--count", "\(then)..") == "4", "\(commits)")
            }
            let shown = try home.passdir("restore", "private", "--at", "HEAD", "--show")
            #expect(shown.exitCode == 1 && shown.errors.contains("private is a store: name a secret in it"))
        }
    }

    /// A command takes what the mount shows under a name: not the secret `a.gpg` where a file or a folder `a` has it.
    @Test(.slow) func aNameMeansWhatTheMountShows() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            try store.insert("file", "secret\n")
            try store.insert("folder", "secret\n")
            try store.insert("folder/in", "inside\n")
            try home.write("plain\n", to: "work/file")
            try store.git("add", "file")
            try store.git("commit", "-qm", "Add a plain file")
            try home.addStores([store])
            #expect(try subjects(home, "work/file") == ["Add a plain file"])
            #expect(try subjects(home, "work/file.gpg") == ["Add given password for file to store."])
            #expect(try subjects(home, "work/folder") == ["Add given password for folder/in to store."])
            #expect(try subjects(home, "work/folder.gpg") == ["Add given password for folder to store."])
            let ages = try lines(home, "log", "--ages", "work").map { $0.split(separator: " ").last }
            #expect(ages.compactMap(\.self).sorted() == ["file.gpg", "folder.gpg", "folder/in"])
            try store.insert("file", "newer\n")
            #expect(try lines(home, "restore", "work/file.gpg", "--at", "HEAD~1") == [])
            #expect(try store.show("file") == Array("secret\n".utf8))
        }
    }

    private func subjects(_ home: TestHome, _ path: String) throws -> [String] {
        try lines(home, "log", path).map { line in
            String(line[line.firstRange(of: "Add")!.lowerBound...])
        }
    }

    /// What a merge did not take is no change of what is there: a secret is followed to the side that it is from.
    @Test(.slow, arguments: [true, false]) func aMergeLeadsToTheSideThatItTook(_ isLostNewer: Bool) throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            func insert(_ author: String, _ hours: Int, _ names: String...) throws {
                let time = try home.succeed(["date", "-d", "-\(hours) hours", "+%s"])
                let date = "@\(String(decoding: time, as: UTF8.self).filter { !$0.isNewline }) +0000"
                for name in names {
                    try home.succeed(
                        ["pass", "insert", "-mf", name], input: Array("\(author)'s\n".utf8),
                        extra: [
                            "PASSWORD_STORE_DIR": store.path.string, "GIT_AUTHOR_NAME": author,
                            "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
                        ])
                }
            }
            try insert("first", 48, "team/db", "taken", "old", "both")
            try store.git("checkout", "-qb", "bob")
            try insert("bob", isLostNewer ? 3 : 5, "team/db", "taken", "both")
            // A name that was passed on, on the side that is not taken, leads nowhere.
            try store.pass(["mv", "team/db", "moved"])
            try store.git("checkout", "-q", "main")
            try insert("ann", 4, "team/db", "lost", "both")
            try store.git("merge", "-q", "--no-commit", "-s", "ours", "bob")
            try store.git("checkout", "bob", "--", "taken.gpg")
            try store.git("rm", "-qf", "lost.gpg")
            // What the merge itself made was changed by both.
            try home.succeed(["cp", "work/old.gpg", "work/both.gpg"])
            try store.git("add", "both.gpg")
            try store.git("commit", "-qm", "Merge bob.")
            try home.addStores([store])
            func authors(_ words: String...) throws -> [String] {
                let lines = try lines(home, ["log", "--json"] + words).joined()
                return lines.matches(of: /"author":"([^"]*)"/).map { String($0.1) }
            }
            #expect(try authors("work/team/db") == ["ann", "first"])
            #expect(try authors("work/taken") == ["bob", "first"])
            #expect(
                try authors("work/both").dropFirst() == (isLostNewer ? ["bob", "ann"] : ["ann", "bob"]) + [
                    "first"
                ])
            let ages = try lines(home, ["log", "--ages", "--json", "work"]).joined()
            let found = ages.matches(of: /"author":"([^"]*)"[^}]*"path":"([^"]*)"/).map { "\($0.2): \($0.1)" }
            #expect(
                found.sorted() == [
                    "both: \(isLostNewer ? "bob" : "ann")", "old: first", "taken: bob", "team/db: ann",
                ], "\(ages)")
            // The whole store's log is all that was done.
            #expect(try authors("work").filter { $0 == "bob" }.count == 3)
        }
    }

    @Test(.slow, arguments: ["named", "conflict"]) func conflictsAreListedAndSettled(_ side: String) throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            try store.insert("a/b", "theirs\n")
            try store.insert("a/b.conflict-host-20260102T030405Z", "ours\n")
            try home.addStores([store])
            let listed = try lines(home, "conflicts")
            #expect(listed == ["work/a/b.conflict-host-20260102T030405Z\twork/a/b"])
            try home.succeed([
                "passdir", "conflicts", "settle", "work/a/b.conflict-host-20260102T030405Z", "--keep", side,
            ])
            #expect(try store.show("a/b") == Array((side == "named" ? "theirs\n" : "ours\n").utf8))
            #expect(try lines(home, "conflicts") == [])
            #expect(try store.git("status", "--porcelain") == "")
        }
    }

    /// A place is named as for every command: without its store, by its path in the mount, or relative to the working folder.
    @Test(.slow) func conflictsAndTheRemovedAreFoundAsTyped() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let stores = try ["work", "other"].map { try home.makeStore($0, recipients: [key]) }
            let conflict = "b.conflict-host-20260102T030405Z"
            for name in ["b", "gone"] { try stores[0].insert("a/\(name)", "theirs\n") }
            try stores[0].pass(["rm", "-f", "a/gone"])
            try home.addStores(stores)
            try home.mount()
            let identifier = try home.succeed(["passdir", "store", "show", "work", "--json"])
            let id = try #require(
                String(decoding: identifier, as: UTF8.self).firstMatch(of: /"id":"([^"]+)"/)?.1)
            let mount = home.mountPoint
            for (typed, folder) in [
                ("a/\(conflict)", home.folder), (conflict, mount.pushing("work/a")),
                ("./\(conflict)", mount.pushing("work/a")), ("\(id):a/\(conflict)", home.folder),
                (mount.pushing(FilePath("work/a/\(conflict)")).string, home.folder),
            ] as [(String, FilePath)] {
                try stores[0].insert("a/\(conflict)", "ours \(typed)\n")
                try home.succeed(
                    ["passdir", "conflicts", "settle", typed, "--keep", "conflict"], in: folder)
                #expect(try stores[0].show("a/b") == Array("ours \(typed)\n".utf8), "\(typed)")
                #expect(try lines(home, "conflicts") == [], "\(typed)")
            }
            let wrong = try home.passdir("conflicts", "settle", "a/b", "--keep", "named")
            #expect(wrong.exitCode == 1 && wrong.errors.contains("a/b is not a conflict"), "\(wrong)")
            // What was removed, too.
            let log = try home.run(["passdir", "log", "gone"], in: mount.pushing("work/a"))
            #expect(log.output.split(separator: "\n").count == 2, "\(log)")
            try home.unmount()
        }
    }

    @Test(.slow) func whatIsLeftOfAConflictIsKept() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("one@example.org")])
            let conflict = "a/b.conflict-host-20260102T030405Z"
            try store.insert(conflict, "ours\n")
            try home.addStores([store])
            let settle = ["passdir", "conflicts", "settle", "work/\(conflict)", "--keep"]
            let refused = try home.run(settle + ["named"])
            #expect(refused.exitCode == 1 && refused.errors.contains("work/a/b is gone"), "\(refused.errors)")
            #expect(try store.show(conflict) == Array("ours\n".utf8))
            try home.succeed(settle + ["conflict"])
            #expect(try store.show("a/b") == Array("ours\n".utf8))
            #expect(try lines(home, "conflicts") == [])
        }
    }

    @Test func aStoreWithoutHistoryHidesNoOther() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("a", "text\n")
            let bare = try home.makeStore("bare", recipients: [key])
            try home.succeed(["rm", "-rf", bare.path.appending(".git").string])
            try home.addStores([bare, store])
            let result = try home.run(["passdir", "log"])
            // As with `sync`, that is no failure: the store was made so.
            #expect(result.exitCode == 0 && result.errors.contains("\"bare\" has no history"), "\(result)")
            #expect(try home.passdir("log", "bare").exitCode == 1)
            #expect(result.output.contains("Add given password for a to store."), "\(result)")
        }
    }
}
