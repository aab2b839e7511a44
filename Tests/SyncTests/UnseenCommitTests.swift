import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Commits of other programs that come at a moment in which nobody would notice them, and that no later event tells of.
@Suite struct UnseenCommitTests {
    /// A machine whose committer runs `body` once, when it asks for its branch to be watched.
    private func machine(
        _ home: TestHome, whenAsked body: @escaping @Sendable () throws -> Void = {}
    ) throws -> Machine {
        let first = Once()
        return try home.machines(1) { options in
            options.delay = .milliseconds(10)
            options.branchFolders = { _ in first.run { try? body() } }
        }[0]
    }

    /// Between the first look at the branch and the beginning of the watch over it.
    @Test func aCommitBeforeTheWatchIsSeen() async throws {
        try await TestHome.with { home in
            let path = home.path("m0")
            let machine = try machine(home) {
                try home.succeed(["git", "commit", "-q", "--allow-empty", "-m", "theirs"], in: path)
            }
            // Only the look: an exchange with the remote would push it anyway.
            #expect(await machine.committer.mendOnce())
            #expect(machine.committer.status.lastCommit?.subject == "theirs")
            let tip = try machine.git("rev-parse", "HEAD")
            try await waitUntil("it is pushed") {
                try machine.git("ls-remote", "origin", "main").hasPrefix(tip)
            }
            // The exchange goes on for a moment after its push, and writes into the folder.
            #expect(await machine.committer.synchronizeNow() == nil)
        }
    }

    /// Between the end of a push and the look at the branch after it.
    @Test(.slow) func aCommitDuringAPushIsPushed() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "one\n")
            let first = Once()
            await Fault.$onPoint.withValue(
                { point in
                    if point == "sync.after-push" {
                        first.run { _ = try? machine.git("commit", "-q", "--allow-empty", "-m", "theirs") }
                    }
                }
            ) {
                #expect(await machine.committer.synchronizeNow() == nil)
            }
            #expect(first.hasRun)
            #expect(try machine.git("log", "-1", "--format=%s") == "theirs")
            #expect(
                try machine.git("ls-remote", "origin", "main").hasPrefix(machine.git("rev-parse", "HEAD")))
        }
    }

    private func waitUntil(_ what: String, _ condition: () throws -> Bool) async throws {
        for _ in 0..<2400 {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw TestFailure("in vain waited until \(what)")
    }

    /// The user moves the branch while it is about to be pushed: what it led to before never was on the remote, and is not
    /// missed there.
    @Test(.slow) func aBranchThatMovesDuringAPushIsNoForce() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.save("a", "one\n")
            let first = Once()
            await Fault.$onPoint.withValue(
                { point in
                    if point == "sync.before-push" {
                        first.run { _ = try? machine.git("commit", "-q", "--amend", "-m", "mine") }
                    }
                }
            ) {
                _ = await machine.committer.synchronizeNow()
            }
            #expect(first.hasRun)
            #expect(await machine.committer.synchronizeNow() == nil)
            let tip = try machine.git("rev-parse", "HEAD")
            #expect(try machine.git("ls-remote", "origin", "main").hasPrefix(tip))
            #expect(try machine.git("log", "-1", "--format=%s") == "mine")
        }
    }
}
