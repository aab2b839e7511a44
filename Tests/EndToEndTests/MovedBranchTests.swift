import SystemPackage
import TestKit
import Testing

/// Commits that others make in a store of the mount: `pass`, `git`, commands of passdir.
@Suite struct MovedBranchTests {
    /// Holds:
    /// - `passdir status` tells of commits of other programs at the moment it is asked.
    /// - Commits of other programs are pushed when the mount ends, if not before.
    @Test func statusTellsOfThem() throws {
        try prepared(["commit.delay": "3600s"]) { home, store in
            for (count, deed) in [
                ["commit", "-q", "--allow-empty", "-m", "one"],
                ["commit", "-q", "--allow-empty", "-m", "two"],
            ]
            .enumerated() {
                try home.succeed(["git"] + deed, in: store.path)
                let told = try home.status().store("work")
                #expect(told.unpushedCommits == count + 1)
                #expect(told.lastCommit?.subject == deed.last)
                #expect(told.state == "waiting")
            }
            try store.git("switch", "-qc", "other")
            #expect(try home.status().store("work").branch == "other")
            try store.git("switch", "-q", "main")
            try store.git("push", "-q")
            let told = try home.status().store("work")
            #expect(told.unpushedCommits == 0 && told.state == "ready")
            try store.insert("mail", "secret\n")
            #expect(try home.status().store("work").unpushedCommits == 1)
            let ended = try home.passdir("unmount")
            #expect(ended.exitCode == 0 && ended.errors == "")
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "main"))
        }
    }

    /// Holds:
    /// - Commits of other programs are pushed as the mount's own are.
    @Test func theyArePushed() throws {
        try prepared(["commit.delay": "50ms"]) { home, store in
            try store.insert("mail", "secret\n")
            let tip = try store.git("rev-parse", "main")
            try home.waitUntil("it is pushed", limit: .seconds(60)) {
                try store.remoteGit("rev-parse", "main") == tip
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - What could not be pushed when the mount ends is told by `passdir unmount`.
    @Test func unmountTellsWhatIsNotPushed() throws {
        try prepared(["commit.delay": "3600s"]) { home, store in
            let remote = try #require(store.remote)
            try FileCalls.rename(remote, to: home.path("away"))
            try FileCalls.save([1], to: home.visible("work/s"))
            try store.git("commit", "-q", "--allow-empty", "-m", "mine")
            let ended = try home.passdir("unmount")
            #expect(ended.exitCode == 0)
            #expect(ended.errors.hasPrefix("passdir: work: 2 commits are not pushed ("), "\(ended.errors)")
            #expect(ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")
            try FileCalls.rename(home.path("away"), to: remote)
        }
    }

    /// Holds:
    /// - `passdir sync` says "in sync" of no store that has no repository or no remote.
    @Test(.slow, arguments: [(false, "there is no git repository"), (true, "there is no remote")])
    func nothingIsInStepWithNothing(_ hasGit: Bool, _ said: String) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], git: hasGit)
            try home.addStores([store])
            try home.mount()
            let synced = try home.passdir("sync")
            #expect(synced.exitCode == 0 && synced.errors == "")
            #expect(synced.output.contains(said) && !synced.output.contains(": in sync"), "\(synced.output)")
            try home.unmount()
        }
    }

    private func prepared(
        _ settings: [String: String], _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.configure(settings)
            try home.addStores([store])
            try home.mount()
            // Until then the first exchange with the remote may run.
            #expect(try home.passdir("sync").exitCode == 0)
            try body(home, store)
        }
    }
}
