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
        @Test func theBranchWaitsInEachTry() async throws {
            try await TestHome.with { home in
                let machine = try home.machines(1)[0]
                try machine.save("a", "1\n")
                let (begun, ended) = (home.path("begun"), home.path("ended"))
                try home.succeed(["mkfifo", begun.string])
                let passes = Mutex(0)
                let hadEnded = Mutex<[Bool]>([])
                try await Fault.$onPoint.withValue({ place in
                    if place == "commit.after-ref" {
                        let isThere = (try? home.succeed(["test", "-e", ended.string])) != nil
                        return hadEnded.withLock { $0.append(isThere) }
                    }
                    guard place == "commit.before-ref",
                        passes.withLock({ passes in
                            passes += 1
                            return passes == 1
                        })
                    else { return }
                    do {
                        let work = "alias.work=!git commit -q --only --allow-empty -m theirs; echo >'\(begun)'; sleep 1; touch '\(ended)'"
                        _ = try home.start(["git", "-c", work, "work"], in: machine.path)
                        try home.succeed(["cat", begun.string])
                    } catch {
                        Issue.record(error)
                    }
                }) { try await machine.commit() }
                #expect(hadEnded.withLock(\.self) == [true])
                #expect(try machine.git("ls-tree", "--name-only", "HEAD", "a.gpg") == "a.gpg")
                #expect(try machine.dirt == "")
            }
        }
    }
#endif
