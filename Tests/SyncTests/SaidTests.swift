import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// "In step" and "ready" are said where that is so, and nowhere else.
@Suite(.serialized) struct SaidTests {
    @Test(.slow) func aBranchThatIsGoneIsSaid() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["git", "update-ref", "-d", "refs/heads/main"], in: home.path("m0.git"))
            for _ in 0..<2 {
                #expect(await machine.committer.synchronizeNow()?.contains("is gone") == true)
                #expect(machine.committer.status.lastError != nil)
            }
            try machine.git("push", "-q", "origin", "main")
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(machine.committer.status.lastError == nil)
        }
    }

    @Test(.slow) func whatAStashBringsBackIsCommitted() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            await machine.committer.start()
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.write("a", "edited")
            try machine.git("stash")
            try machine.git("stash", "pop")
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(try machine.dirt == "")
            #expect(try machine.read("a") == "edited")
            #expect(try machine.git("rev-parse", "HEAD") == machine.git("rev-parse", "origin/main"))
        }
    }

    /// What the user has staged is the user's, but it is in nobody else's clone.
    @Test(
        .slow,
        arguments: [
            "echo x > new.gpg; git add new.gpg", "echo x > a.gpg; git add a.gpg", "git rm -q --cached a.gpg",
            "echo x > a.gpg; git stash -q; echo y > a.gpg; git commit -qam y; ! git stash pop -q",
        ])
    func whatIsStagedIsSaid(_ deed: String) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            await machine.committer.start()
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["bash", "-c", deed], in: machine.path)
            for _ in 0..<2 {
                let said = await machine.committer.synchronizeNow()
                #expect(said?.contains("git restore --staged") == true, "\(said ?? "in sync")")
                // `status` says the same.
                #expect(machine.committer.wholeStatus.notes.contains { said == $0 + "." })
            }
            try machine.git("commit", "-qa", "--allow-empty", "-m", "mine")
            #expect(machine.committer.wholeStatus.notes.isEmpty)
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// Who saves without end is no reason for a complaint: what was there when it was asked for is on the remote.
    @Test(.slow) func whatIsSavedMeanwhileIsNoComplaint() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            let count = Mutex(0)
            let complaint = await Fault.$onPoint.withValue({ point in
                guard point == "sync.before-push" else { return }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try? machine.save("more \(number)", "text")
            }) { await machine.committer.synchronizeNow() }
            #expect(complaint == nil)
            #expect(count.withLock { $0 } > 1)
            #expect(machine.committer.status.pendingChanges > 0)
            #expect(try machine.git("ls-tree", "--name-only", "origin/main").contains("a.gpg"))
        }
    }

    /// Holds:
    /// - Where git has no identity and `user.useConfigOnly` is set, changes wait until it has one; `passdir status` says
    ///   so.
    @Test func aForbiddenGuessIsNoIdentity() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.git("config", "user.useConfigOnly", "true")
            let tip = try machine.git("rev-parse", "HEAD")
            try machine.save("a", "A")
            await machine.committer.commitPending()
            #expect(machine.committer.status.pendingChanges == 1)
            #expect(machine.committer.status.lastError?.contains("user.useConfigOnly") == true)
            #expect(try machine.git("rev-parse", "HEAD") == tip)
            try machine.git("config", "user.name", "Me")
            try machine.git("config", "user.email", "me@example.org")
            try await machine.commit()
            #expect(try machine.git("log", "-1", "--format=%ae %ce") == "me@example.org me@example.org")
        }
    }

    /// HEAD is on no branch in the middle of a user's rebase; afterwards all is well again.
    @Test(.slow) func aDetachedHeadIsSaidWhileItIs() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "A")
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.git("checkout", "-q", "--detach")
            for _ in 0..<2 {
                let said = await machine.committer.synchronizeNow()
                #expect(said?.contains("no branch is checked out") == true, "\(said ?? "in sync")")
            }
            try machine.git("checkout", "-q", "main")
            let said = await machine.committer.synchronizeNow()
            #expect(said == nil, "\(said ?? "")")
            #expect(machine.committer.status.lastError == nil)
        }
    }

    /// What a store has that git ignores is in nobody else's clone.
    @Test(.slow) func whatGitIgnoresIsSaid() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            await machine.committer.start()
            try home.write("local/\n", to: "m0/.git/info/exclude")
            try machine.write("local/a", "A")
            for _ in 0..<2 {
                let said = await machine.committer.synchronizeNow()
                #expect(said?.contains(".gitignore matches: local/a") == true, "\(said ?? "in sync")")
            }
            #expect(machine.committer.wholeStatus.notes.contains { $0.contains("local/a") })
            try home.succeed(["rm", "m0/local/a.gpg"], in: home.folder)
            #expect(machine.committer.wholeStatus.notes.isEmpty)
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// It is not said for the quarter of an hour until the remote is asked again.
    @Test(.slow) func anObstacleThatIsMovedAwayIsForgotten() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try home.write("theirs", to: "m0/README")
            try machines[0].git("add", "README")
            try machines[0].git("commit", "-qm", "README")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            try home.write("mine", to: "m1/README")
            #expect(await machines[1].committer.synchronizeNow()?.contains("README exists here") == true)
            #expect(machines[1].committer.wholeStatus.lastError?.contains("README exists here") == true)
            try home.succeed(["mv", "m1/README", "mine"], in: home.folder)
            #expect(machines[1].committer.wholeStatus.lastError == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            #expect(try machines[1].git("ls-files", "README") == "README")
        }
    }

    @Test(.slow) func aStaleLockIsSaid() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("a", "A")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            let lock = machines[1].path.pushing(".git/index.lock").string
            try home.succeed(["touch", "-d", "1 hour ago", lock])
            #expect(await machines[1].committer.synchronizeNow()?.contains("lock") == true)
            try home.succeed(["rm", lock])
            #expect(await machines[1].committer.synchronizeNow() == nil)
            #expect(try machines[1].read("a") == "A")
        }
    }
}
