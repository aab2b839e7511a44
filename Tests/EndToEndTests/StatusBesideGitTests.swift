import Glibc
import SystemPackage
import TestKit
import Testing

/// What `status` tells right after something was done beside the mount, by a command or by git.
@Suite struct StatusBesideGitTests {
    private func withStore(
        git: Bool = true, remote: Bool = false, _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: git, remote: remote)
            for name in ["a", "b"] { try store.insert(name, "old\n") }
            if remote { try store.git("push", "-q") }
            try home.configure(["commit.delay": "100ms"])
            try home.addStores([store])
            try home.mount()
            try home.succeed(["ls", home.visible("work").string])
            try home.waitUntil("nothing is looked for any more", limit: .seconds(120)) {
                try !home.passdir("status").output.contains("looking for")
            }
            try body(home, store)
            try home.unmount()
        }
    }

    private func error(_ home: TestHome) throws -> String {
        try home.status().store("work").lastError ?? ""
    }

    @Test func thePushOfACommandIsTold() throws {
        try withStore(remote: true) { home, store in
            #expect(try home.status().store("work").lastPush == nil)
            let bob = try home.makeKey("bob@example.org")
            try home.succeed(["passdir", "recipients", "add", "--yes", "work", bob.fingerprint])
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
            #expect(try home.status().store("work").lastPush != nil)
        }
    }

    /// What lies there uncommitted is committed, as at the start of a mount.
    @Test func aRepositoryThatIsMadeTakesInWhatIsThere() throws {
        try withStore(git: false) { home, store in
            #expect(try home.status().store("work").state == "noCommits")
            try store.git("init", "-q")
            #expect(try home.passdir("status").output.contains("looking for uncommitted changes"))
            try home.waitUntil("it is committed", limit: .seconds(120)) {
                try store.git("status", "--porcelain").isEmpty
            }
            try home.waitUntil("status is ready", limit: .seconds(120)) {
                let status = try home.passdir("status").output
                return status.contains("state    ready") && !status.contains("looking for")
            }
            #expect(try store.git("ls-files") == ".gpg-id\na.gpg\nb.gpg")
        }
    }

    /// Before the commit is given up for that time.
    @Test(.slow) func aLockThatIsHeldIsNamedWhileItIsWaitedFor() throws {
        try withStore { home, store in
            try home.succeed(["touch", ".git/index.lock"], in: store.path)
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/a"))
            try home.waitUntil("the lock is named") { try error(home).contains("work/.git/index.lock") }
            let log = try home.text(of: "state/passdir/log")
            #expect(!log.contains("changes wait"), "\(log)")
            try home.succeed(["rm", ".git/index.lock"], in: store.path)
            try home.waitUntilCommitted(store)
            #expect(try error(home) == "")
        }
    }

    /// A rebase that stopped in a conflict in `b`.
    private func stop(_ home: TestHome, _ store: TestStore) throws {
        try store.git("switch", "-q", "-c", "topic")
        try home.succeed(["sh", "-c", "rm b.gpg; cp a.gpg b.gpg; git commit -qam topic"], in: store.path)
        try store.git("switch", "-q", "main")
        try store.insert("b", "ours\n")
        try store.git("switch", "-q", "topic")
        #expect(try home.run(["git", "rebase", "-q", "main"], in: store.path).exitCode != 0)
    }

    @Test func anUnfinishedRebaseIsNamedBeforeTheMissingBranch() throws {
        try withStore { home, store in
            try stop(home, store)
            let said = try error(home)
            #expect(said.contains("a rebase is unfinished in") && !said.contains("no branch"), "\(said)")
            try store.git("rebase", "--abort")
        }
    }

    /// As it is typed, in the store's folder.
    @Test(.slow) func theWayOutOfARebaseWorks() throws {
        try withStore { home, store in
            try stop(home, store)
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/a"))
            try home.waitUntil("it waits") { try error(home).contains("changes wait because a rebase") }
            let said = try error(home)
            try home.succeed(["git", "checkout", "-q", "--theirs", "b.gpg"], in: store.path)
            let advice = said.matches(of: /git [a-z]+ -[-a-z]+/).map { String($0.output) }
            #expect(advice == ["git commit -a", "git rebase --continue"], "\(said)")
            for command in advice {
                try home.succeed(["sh", "-c", command], in: store.path, extra: ["GIT_EDITOR": "true"])
            }
            #expect(
                try store.git("status", "--porcelain") == ""
                    && store.git("branch", "--show-current") == "topic")
            try home.waitUntilCommitted(store)
            #expect(try store.show("a") == Array("new\n".utf8))
            try home.waitUntil("nothing waits") { try home.status().store("work").state == "ready" }
            #expect(try !store.git("ls-files").contains("conflict"))
        }
    }

    /// What is begun, and what ends it; git refuses the end while a secret that was saved meanwhile lies there.
    @Test(
        .slow,
        arguments: [
            ("git bisect start HEAD HEAD~2", "git bisect reset"),
            ("git checkout -q -b side HEAD~1; git merge -q --no-commit --no-ff topic", "git merge --abort"),
            (
                "git checkout -q -b side HEAD~1; git commit -q --allow-empty -m side; git merge -q --no-commit topic",
                "git merge --abort"
            ),
        ])
    func theWayOutWhereGitRefusesWorks(_ begin: String, _ end: String) throws {
        try withStore { home, store in
            // What is saved is another text in each of the commits that git goes to.
            for number in 0..<3 {
                try FileCalls.save(Array("old \(number)\n".utf8), to: home.visible("work/a"))
                try home.waitUntil("it is committed") {
                    try store.show("a") == Array("old \(number)\n".utf8)
                        && store.git("status", "--porcelain").isEmpty
                }
            }
            try store.git("checkout", "-q", "-B", "topic")
            try home.succeed(["sh", "-c", begin], in: store.path)
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/a"))
            try home.waitUntil("it waits") { try error(home).contains("changes wait because ") }
            let said = try error(home)
            #expect(said.contains("git checkout of that file"), "\(said)")
            #expect(try home.run(["sh", "-c", end], in: store.path).exitCode != 0)
            let blob = try store.git("hash-object", "a.gpg")
            try home.waitUntil("it is kept") {
                try home.run(["git", "rev-parse", "refs/passdir/waiting:a.gpg"], in: store.path).output
                    .hasPrefix(blob)
            }
            try store.git("checkout", "a.gpg")
            try home.succeed(["sh", "-c", end], in: store.path)
            try home.waitUntil("nothing waits") { try home.status().store("work").state == "ready" }
            try home.waitUntil("it is a conflict") {
                try store.git("ls-tree", "--name-only", "HEAD").contains("a.conflict-")
            }
            let conflict = try store.git("ls-tree", "--name-only", "HEAD").split(separator: "\n")
                .first { $0.hasPrefix("a.conflict-") }
            let name = try String(#require(conflict).dropLast(4))
            #expect(try store.show(name) == Array("new\n".utf8))
            #expect(try home.status().store("work").conflicts == [name])
        }
    }

    @Test func whatIsStashedWaitsNoMore() throws {
        try withStore { home, store in
            try stop(home, store)
            for name in ["a", "new"] {
                try FileCalls.save(Array("new\n".utf8), to: home.visible("work/\(name)"))
            }
            let blob = try store.git("hash-object", "a.gpg")
            try home.waitUntil("it waits, and is kept") {
                try home.status().store("work").pendingChanges == 2
                    && home.run(["git", "rev-parse", "refs/passdir/waiting:a.gpg"], in: store.path).output
                        .hasPrefix(blob)
            }
            try home.succeed(
                ["sh", "-c", "git checkout -q --theirs b.gpg && git add b.gpg && git stash -q"],
                in: store.path)
            #expect(try home.status().store("work").pendingChanges == 1)
            try home.succeed(["rm", home.visible("work/new").string])
            #expect(try home.status().store("work").pendingChanges == 0)
            #expect(try error(home).contains("a rebase is unfinished"))
            try store.git("rebase", "--abort")
            try store.git("stash", "pop", "-q")
            try store.git("commit", "-qam", "popped")
            try home.waitUntil("nothing waits") { try home.status().store("work").state == "ready" }
            #expect(try store.show("a") == Array("new\n".utf8))
        }
    }

    /// Holds:
    /// - A version that a save keeps beside another's is a conflict like that of a merge, whatever its name is made of.
    @Test(.slow, arguments: sampled(["a", "two\nlines", "caf\u{e9} 100%"]))
    func aConflictOfASaveIsTold(_ name: String) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert(name, "one\n")
            try store.insert("other", "out\n")
            try home.addStores([store])
            try home.mount()
            let script = """
                exec 7<>"mnt/work/$0"; cat <&7 >/dev/null
                cp work/other.gpg new; mv new "work/$0.gpg"
                echo edit >&7; exec 7>&-
                """
            try home.succeed(["bash", "-c", script, name])
            let conflicts = try home.status().store("work").conflicts ?? []
            #expect(conflicts.count == 1 && conflicts[0].hasPrefix(name + ".conflict-"), "\(conflicts)")
            let synced = try home.passdir("sync")
            #expect(synced.output.contains("1 conflict to settle"), "\(synced)")
            try home.unmount()
        }
    }

    /// Of a rebase that stopped when it had stashed neither `--continue` nor `--abort` knows anything.
    @Test func aRebaseThatOnlyStashedHasAWayOut() throws {
        try withStore { home, store in
            try home.succeed(
                [
                    "sh", "-ec",
                    """
                    mkdir .git/rebase-merge; echo x >notes; git add notes
                    git stash create autostash >.git/rebase-merge/autostash; git reset -q --hard
                    """,
                ], in: store.path)
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/a"))
            try home.waitUntil("it waits") { try error(home).contains("changes wait because ") }
            #expect(try error(home).contains(": git stopped before it began: run git rebase --quit, which "))
            try store.git("rebase", "--quit")
            try home.waitUntil("nothing waits") { try home.status().store("work").state == "ready" }
            #expect(try store.show("a") == Array("new\n".utf8))
            #expect(try store.git("stash", "list").contains("autostash"))
        }
    }
}
