import SystemPackage
import TestKit
import Testing

/// What git overwrites between a save and its commit.
@Suite struct TakenBackTests {
    /// What a program does in the store's folder once `secret` is saved through the mount.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// Before the save.
        var before = ""
        var secret = "a"
        var after: String
        /// Whether what was saved becomes a conflict file.
        var isKept: Bool
        /// The text of the secret afterwards; nil when it is gone.
        var text: String?
        /// Larger than what is held in memory.
        var isLarge = false

        var testDescription: String { name }
    }

    /// `git stash` is `create` and `store`, then `reset --hard`, and `clean` for what git did not know
    /// (git-stash(1), "Discussion").
    static let cases = [
        Case(
            name: "saved between the steps of git stash",
            before: "cp .git/spare b.gpg; git stash store $(git stash create)",
            after: "git reset -q --hard", isKept: true, text: "a\n"),
        Case(
            name: "a new one saved between the steps of git stash -u",
            before: "cp .git/spare b.gpg; git stash -q -u",
            secret: "new", after: "git clean -fdq", isKept: true, text: nil),
        Case(name: "git reset --hard", after: "git reset -q --hard", isKept: true, text: "a\n"),
        Case(name: "git checkout FILE", after: "git checkout -q a.gpg", isKept: true, text: "a\n"),
        Case(
            name: "an older version is checked out", before: "echo newer | pass insert -ef a >/dev/null",
            after: "git checkout -q HEAD~1 -- a.gpg; git reset -q", isKept: true, text: "a\n"),
        Case(
            name: "its commit is taken back", before: "echo newer | pass insert -ef new >/dev/null",
            secret: "new", after: "git reset -q --hard HEAD~1", isKept: true, text: nil),
        Case(
            name: "a stash that has it, and another one",
            after: "git stash -q; cp .git/spare b.gpg; git stash -q",
            isKept: false, text: "a\n"),
        Case(name: "a stash that has it", after: "git stash -q", isKept: false, text: "a\n"),
        Case(
            name: "a stash -u that has it", secret: "new", after: "git stash -q -u", isKept: false, text: nil),
        Case(
            name: "a reset to what others pushed",
            before: "git switch -qc theirs; pass insert -ef a <<< theirs >/dev/null; git switch -q main",
            after: "git reset -q --hard theirs", isKept: true, text: "theirs\n"),
        Case(
            name: "a switch to a branch with another one",
            before: "git switch -qc theirs; pass insert -ef a <<< theirs >/dev/null; git switch -q main",
            after: "git switch -qf theirs", isKept: true, text: "theirs\n"),
        Case(
            name: "a reset to where it was removed",
            before: "git switch -qc theirs; pass rm -f a >/dev/null; git switch -q main",
            after: "git reset -q --hard theirs", isKept: true),
        Case(
            name: "a large one", after: "git checkout -q a.gpg", isKept: true, text: "a\n", isLarge: true),
        Case(
            name: "a stash that is popped", after: "git stash -q; git stash pop -q", isKept: false,
            text: "saved\n"),
        Case(name: "a commit of the user's", after: "git commit -qam mine", isKept: false, text: "saved\n"),
        Case(
            name: "a commit of the user's and its revert",
            after: "git commit -qam mine; git revert --no-edit HEAD >/dev/null", isKept: false, text: "a\n"),
        Case(
            name: "pass overwrites it", after: "echo pass | pass insert -ef a >/dev/null", isKept: false,
            text: "pass\n"),
        Case(
            name: "pass removes a new one", secret: "new", after: "pass rm -f new >/dev/null || rm new.gpg",
            isKept: false),
        Case(name: "it is renamed in the mount", after: "mv $MOUNT/a $MOUNT/c", isKept: false, text: nil),
        Case(name: "it is removed in the mount", after: "rm $MOUNT/a", isKept: false, text: nil),
        Case(
            name: "its folder is renamed, and taken back", secret: "d/x",
            after: "mv $MOUNT/d $MOUNT/e; git stash -q -u",
            isKept: false, text: "d\n"),
    ]

    @Test(.slow, arguments: cases) func whatGitPutsBackIsKept(_ test: Case) throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            for (name, text) in [("a", "a\n"), ("b", "b\n"), ("d/x", "d\n")] { try store.insert(name, text) }
            try home.succeed([
                "cp", store.path.appending("a.gpg").string, store.path.appending(".git/spare").string,
            ])
            func shell(_ script: String) throws {
                try home.succeed(
                    ["bash", "-ec", script], in: store.path,
                    extra: ["MOUNT": home.visible("work").string, "PASSWORD_STORE_DIR": store.path.string])
            }
            try store.git("push", "-q")
            // Time for what git does.
            try home.configure(["commit.delay": "3s", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            // So that its first look at the store is over.
            try home.succeed(["passdir", "sync"])
            try shell(test.before.isEmpty ? ":" : test.before)
            let saved = home.path("saved")
            try home.succeed(
                [
                    "sh", "-c",
                    test.isLarge ? "head -c 17000000 /dev/urandom > \"$0\"" : "echo saved > \"$0\"",
                    saved.string,
                ])
            try home.succeed(["cp", saved.string, home.visible("work/\(test.secret)").string])
            try shell(test.after)
            try home.succeed(["passdir", "sync"])
            // A conflict file is committed by the next exchange.
            try home.succeed(["passdir", "sync"])
            let conflicts = try store.git("ls-files", "*.conflict-*").split(separator: "\n").map(String.init)
            #expect(conflicts.count == (test.isKept ? 1 : 0), "\(conflicts)")
            for conflict in conflicts {
                #expect(conflict.hasPrefix(test.secret + ".conflict-"))
                #expect(try store.show(String(conflict.dropLast(4))) == home.bytes(at: saved))
                #expect(try home.passdir("status").output.contains("conflict \(test.secret).conflict-"))
            }
            let now = try? store.show(test.secret)
            #expect(now == test.text.map { Array($0.utf8) })
            #expect(try store.git("status", "--short").isEmpty)
            try home.unmount()
        }
    }

    @Test(.slow) func whatWasSavedLastIsKept() throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            try store.insert("a", "a\n")
            try home.configure(["commit.delay": "20s", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "sync"])
            // What is saved upon one another is one edit, under whichever name.
            for text in ["three", "four"] {
                try home.succeed(["sh", "-c", "echo \(text) > \"$0\"", home.visible("work/a").string])
                try home.succeed(["mv", home.visible("work/a").string, home.visible("work/b").string])
                try home.succeed(["touch", "-d", "2020-01-01", home.visible("work/b").string])
                try home.succeed(["sh", "-c", "echo x > \"$0\"", home.visible("work/b").string])
                try home.succeed(["mv", home.visible("work/b").string, home.visible("work/a").string])
                try home.succeed(["sh", "-c", "echo \(text) > \"$0\"", home.visible("work/a").string])
            }
            try store.git("reset", "-q", "--hard")
            for _ in 0..<2 { try home.succeed(["passdir", "sync"]) }
            let conflicts = try store.git("ls-files", "*.conflict-*").split(separator: "\n")
            let texts = try conflicts.map {
                String(decoding: try store.show(String($0.dropLast(4))), as: UTF8.self)
            }
            #expect(texts == ["four\n"])
            #expect(try store.show("a") == Array("a\n".utf8))
            try home.unmount()
        }
    }

    /// `git reset` reads HEAD when it begins, and moves the branch there at its end.
    @Test(.slow) func aCommitThatAResetDidNotSeeIsKept() throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            for name in ["a", "b"] { try store.insert(name, "\(name)\n") }
            try home.configure(["commit.delay": "20ms", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "sync"])
            for name in ["a", "new"] {
                let head = try store.git("rev-parse", "HEAD")
                try home.succeed(["sh", "-c", "echo saved > \"$0\"", home.visible("work/\(name)").string])
                try home.waitUntil("\(name) is committed") {
                    try store.git("rev-parse", "HEAD") != head && store.git("status", "--short").isEmpty
                }
                // One git program, as a reset is.
                let reset =
                    "!git read-tree --reset -u \(head) && git update-ref -m 'reset: moving to HEAD' HEAD \(head)"
                try store.git("-c", "alias.late-reset=\(reset)", "late-reset")
                // Its commit moves the branch after the index: the next reset is to undo one commit only.
                try home.waitUntil("\(name) is kept") {
                    try store.git("ls-files").contains("\(name).conflict-")
                        && store.git("status", "--short").isEmpty
                }
                let conflict = try store.git("ls-files", "\(name).conflict-*").dropLast(4)
                #expect(try store.show(String(conflict)) == Array("saved\n".utf8))
            }
            // What the user takes back by its name is the user's.
            let files = try store.git("ls-files")
            try home.succeed(["sh", "-c", "echo again > \"$0\"", home.visible("work/b").string])
            try home.waitUntilCommitted(store)
            try store.git("reset", "-q", "--hard", "HEAD~1")
            try home.succeed(["passdir", "sync"])
            #expect(try store.git("ls-files") == files)
            try home.unmount()
        }
    }

    /// The stashes of a linked worktree are the main repository's.
    @Test func aStashInALinkedWorktreeIsSeen() throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            try store.insert("a", "a\n")
            let linked = home.path("linked")
            try store.git("worktree", "add", "-q", linked.string, "-b", "side")
            try home.configure(["commit.delay": "1s", "sync.interval": "0s"])
            try home.succeed(["passdir", "store", "add", "linked", "--path", linked.string])
            try home.mount()
            try home.succeed(["passdir", "sync"])
            try home.succeed(
                [
                    "bash", "-ec",
                    """
                    cp a.gpg other.gpg
                    git stash -q -u
                    echo saved >"$0/new"
                    git clean -fdq
                    git stash pop -q
                    """, home.mountPoint.appending("linked").string,
                ], in: linked)
            try home.waitUntil("what was saved is kept") {
                try home.run(["sh", "-c", "cat mnt/linked/new.conflict-*"]).output == "saved\n"
            }
            try home.unmount()
        }
    }

    @Test func whatAStashBringsBackIsCommitted() throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            for name in ["a", "b"] { try store.insert(name, "\(name)\n") }
            try home.configure(["commit.delay": "300ms", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "sync"])
            try home.succeed([
                "cp", store.path.appending("b.gpg").string, store.path.appending("a.gpg").string,
            ])
            // Nobody sees the stash: it is gone before branches are looked at.
            try store.git("-c", "alias.there-and-back=!git stash -q && git stash pop -q", "there-and-back")
            try home.waitUntil("what it brought back is committed", limit: .seconds(60)) {
                try store.git("status", "--short").isEmpty && store.show("a") == Array("b\n".utf8)
            }
            try home.unmount()
        }
    }

    /// What git put back was for others than the secret is now: nothing of it is pushed.
    @Test(
        .slow,
        arguments: [
            "passdir recipients remove work b@example.org --yes",
            "cd $STORE; echo a@example.org > .gpg-id; git commit -qam 'b leaves'",
        ])
    func nothingIsKeptForFormerReaders(_ change: String) throws {
        try TestHome.guarded(limit: .seconds(120)) { home in
            let keys = try ["a@example.org", "b@example.org"].map { try home.makeKey($0) }
            let store = try home.makeStore("work", recipients: keys, remote: true)
            for name in ["a", "b"] { try store.insert(name, "\(name)\n") }
            try store.git("push", "-q")
            try home.configure(["commit.delay": "20s", "sync.interval": "0s"])
            try home.addStores([store])
            try home.mount()
            try home.succeed(["passdir", "sync"])
            try home.succeed(["sh", "-c", "echo saved > \"$0\"", home.visible("work/a").string])
            try store.git("reset", "-q", "--hard")
            try home.succeed(["bash", "-ec", change], extra: ["STORE": store.path.string])
            for _ in 0..<2 { try home.succeed(["passdir", "sync"]) }
            #expect(try !store.git("ls-files").contains("conflict"))
            #expect(try store.show("a") == Array("a\n".utf8))
            let kept = try store.git("for-each-ref", "--format=%(objectname)", "refs/passdir/taken-back")
            let text = try home.succeed(
                ["sh", "-c", "git cat-file blob \(kept) | gpg -q -d"], in: store.path)
            #expect(text == Array("saved\n".utf8))
            #expect(try !store.remoteGit("for-each-ref").contains("taken-back"))
            try home.unmount()
        }
    }
}
