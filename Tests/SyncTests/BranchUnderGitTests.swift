import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

// An optimised build has no places to stop at (`Fault`).
#if DEBUG
    /// A branch that moves while a git program works on it makes that program fail.
    @Suite struct BranchUnderGitTests {
        /// The first try of a commit meets a git program right before the branch would move, which moves the branch and goes
        /// on, as `pass` and `git pull` do. `git pull` fails when it finds another tip than it began with, or puts what was
        /// saved meanwhile back to what that tip has.
        @Test(.slow) func theBranchWaitsInEachTry() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "1\n")
                let (begun, ended) = (home.path("begun"), home.path("ended"))
                try home.succeed(["mkfifo", begun.string])
                let first = Once()
                let hadEnded = Mutex<[Bool]>([])
                try await Fault.$onPoint.withValue({ place in
                    if place == "commit.after-ref" {
                        let isThere = (try? home.succeed(["test", "-e", ended.string])) != nil
                        return hadEnded.withLock { $0.append(isThere) }
                    }
                    guard place == "commit.before-ref" else { return }
                    first.run {
                        do {
                            let work =
                                "alias.work=!git commit -q --only --allow-empty -m theirs; echo >'\(begun)'; sleep 1; touch '\(ended)'"
                            _ = try home.start(["git", "-c", work, "work"], in: machine.path)
                            try home.succeed(["cat", begun.string])
                        } catch {
                            Issue.record(error)
                        }
                    }
                }) { try await machine.commit() }
                #expect(hadEnded.withLock(\.self) == [true])
                #expect(try machine.git("ls-tree", "--name-only", "HEAD", "a.gpg") == "a.gpg")
                #expect(try machine.dirt == "")
            }
        }

        /// Right behind a commit, the branch is left for an older one: what was committed is on the branch.
        @Test func aSwitchBehindACommitTakesNothingBack() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                for text in ["1\n", "2\n", "3\n"] {
                    try machine.save("a", text)
                    try await machine.commit()
                }
                try machine.save("a", "4\n")
                let first = Once()
                try await Fault.$onPoint.withValue({ place in
                    guard place == "commit.synchronized" else { return }
                    first.run { _ = try? machine.git("switch", "-q", "-c", "side", "HEAD~2") }
                }) { try await machine.commit() }
                #expect(first.hasRun)
                #expect(try machine.names.filter { $0.hasPrefix("a") } == ["a"])
                #expect(try machine.read("a") == "2\n")
                #expect(try machine.dirt == "")
            }
        }

        /// A pull from a remote that takes its time: what is saved meanwhile is committed when it has ended.
        @Test(.slow) func theBranchWaitsForASlowPull() async throws {
            try await TestHome.with { home in
                let machines = try home.machines(2)
                try machines[1].save("theirs", "1\n")
                try await machines[1].commit()
                try machines[1].git("push", "-q")
                let machine = machines[0]
                try machine.save("a", "1\n")
                let slow = home.path("slow")
                try home.succeed(
                    [
                        "sh", "-c",
                        "printf '#!/bin/sh\\nsleep 12\\nexec git-upload-pack \"$@\"' > \"$0\"; chmod +x \"$0\"",
                        slow.string,
                    ])
                let pull = try home.start(
                    ["git", "pull", "-q", "--no-rebase", "--no-edit", "--upload-pack", slow.string],
                    in: machine.path)
                try home.waitUntil("git pulls") { GitTraffic.isPulling(in: machine.path) }
                try await machine.commit()
                let result = try pull.wait(limit: .seconds(60))
                #expect(result.exitCode == 0, "\(result)")
                #expect(try machine.git("ls-files", "a.gpg", "theirs.gpg") == "a.gpg\ntheirs.gpg")
                #expect(try machine.dirt == "")
            }
        }
    }
#endif
