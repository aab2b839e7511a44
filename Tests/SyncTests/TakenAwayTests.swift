import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What others took away on the remote is not put there again by the next save.
@Suite struct TakenAwayTests {
    @Test(
        .slow,
        arguments: [
            ("git update-ref -d refs/heads/main", "is gone"), ("git branch -m main other", "is gone"),
            ("rm -rf refs packed-refs; mkdir -p refs/heads", "is gone"),
            ("git update-ref refs/heads/main main~1", "was force-pushed"),
        ])
    func aSavePutsNothingBack(_ deed: String, _ says: String) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let remote = FilePath(try machine.git("remote", "get-url", "origin"))
            try machine.save("a", "one\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["sh", "-ec", deed], in: remote)
            let before = try home.succeed(["git", "for-each-ref"], in: remote)
            try machine.save("b", "two\n")
            try await machine.commit()
            await machine.committer.commitAndPush()
            #expect(machine.committer.status.lastError?.contains(says) == true)
            #expect(try home.succeed(["git", "for-each-ref"], in: remote) == before)
            #expect(try machine.dirt == "")
        }
    }

    /// Somebody pushes between the server's list and our turn: that is taken in, as what came before.
    @Test(.slow) func whoWasFasterIsTakenIn() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[1].save("theirs", "two\n")
            try await machines[1].commit()
            try machines[1].git("push", "-q", "origin", "main:refs/heads/side")
            let remote = FilePath(try machines[0].git("remote", "get-url", "origin"))
            let hook = remote.appending("hooks").appending("pre-receive")
            try home.write(
                """
                #!/bin/sh
                rm "$0"
                unset GIT_QUARANTINE_PATH
                git update-ref refs/heads/main refs/heads/side

                """, to: "pre-receive", mode: [.ownerReadWriteExecute])
            try home.succeed(["mkdir", "-p", hook.removingLastComponent().string])
            try home.succeed(["mv", home.path("pre-receive").string, hook.string])
            try machines[0].save("ours", "one\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(access(hook.string, F_OK) != 0)
            #expect(try machines[0].read("theirs") == "two\n")
            #expect(
                try machines[0].git("ls-remote", "origin", "main").hasPrefix(
                    machines[0].git("rev-parse", "HEAD")))
        }
    }

    #if DEBUG
        /// The remote's URL is changed between the look at it and the fetch: what comes is compared with nothing.
        @Test func aURLThatChangesMeanwhileIsNoForce() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "one\n")
                #expect(await machine.committer.synchronizeNow() == nil)
                try home.succeed(["git", "clone", "-q", "--bare", "m0.git", "other.git"])
                try machine.save("b", "two\n")
                #expect(await machine.committer.synchronizeNow() == nil)
                let other = home.path("other.git").string
                let complaint = await Fault.$onPoint.withValue({ place in
                    guard place == "sync.before-fetch" else { return }
                    _ = try? machine.git("remote", "set-url", "origin", other)
                }) { await machine.committer.synchronizeNow() }
                #expect(complaint == nil, "\(complaint ?? "")")
                let there = try home.succeed(["git", "-C", other, "rev-parse", "main"])
                #expect(try machine.git("rev-parse", "HEAD").utf8.elementsEqual(there.dropLast()))
            }
        }
    #endif

    /// What was seen of one remote is not missed on another that takes its place.
    @Test(.slow, arguments: ["main", "main~1", ""]) func anotherRemoteIsAnother(_ tip: String) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "one\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            try home.succeed(["git", "init", "-q", "--bare", "-b", "main", "other.git"])
            let other = home.path("other.git").string
            if !tip.isEmpty { try machine.git("push", "-q", other, "\(tip):refs/heads/main") }
            try machine.git("remote", "set-url", "origin", other)
            try machine.save("b", "two\n")
            #expect(await machine.committer.synchronizeNow() == nil)
            #expect(
                try machine.git("ls-remote", "origin", "main").hasPrefix(machine.git("rev-parse", "HEAD")))
            #expect(machine.committer.status.unpushedCommits == 0)
        }
    }

    /// Nobody but who pushed it has changed a file that can be executed.
    @Test(.slow, arguments: [false, true]) func aPushedModeIsNoChangeOfOurs(_ isIgnored: Bool) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("a", "one\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            if isIgnored { try machines[1].git("config", "core.fileMode", "false") }
            try machines[0].git("update-index", "--chmod=+x", "a.gpg", ".gpg-id")
            try machines[0].git("commit", "-qm", "modes")
            try home.succeed(["chmod", "+x", "a.gpg", ".gpg-id"], in: machines[0].path)
            try machines[0].git("push", "-q")
            let pushed = try machines[0].git("rev-parse", "HEAD")
            for machine in machines {
                // The second look is for what lies there uncommitted.
                for _ in 0..<2 { #expect(await machine.committer.synchronizeNow(looking: true) == nil) }
                #expect(try machine.git("rev-parse", "HEAD") == pushed)
                #expect(try machine.dirt == "")
            }
        }
    }
}
