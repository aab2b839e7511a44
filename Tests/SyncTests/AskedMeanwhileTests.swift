import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

// An optimised build has no places to stop at (`Fault`).
#if DEBUG
    /// What a user asks for while an exchange with the remote is under way already.
    @Suite struct AskedMeanwhileTests {
        /// The answer is of the remote as it is when the user asks, not of what another exchange found before.
        @Test func whatFailedBeforeIsNoAnswer() async throws {
            try await TestHome.with { home in
                let machines = try home.machines(2)
                try machines[0].save("theirs", "text\n")
                #expect(await machines[0].committer.synchronizeNow() == nil)
                let (here, committer) = (machines[1], machines[1].committer)
                try here.save("ours", "text\n")
                try await here.commit()
                let remote = String(try here.git("remote", "get-url", "origin"))
                let asked = Mutex<Task<String?, Never>?>(nil)
                await Fault.$onPoint.withValue({ place in
                    do {
                        switch place {
                        case "sync.before-push":
                            guard asked.withLock({ $0 }) == nil else { return }
                            try home.succeed(["mv", remote, "\(remote).away"])
                            // Not in this task: what is asked there stops at no place. Of this one's
                            // priority: another would queue behind the tests that block.
                            asked.withLock {
                                $0 = Task.detached(priority: Task.currentPriority) {
                                    await committer.synchronizeNow()
                                }
                            }
                        case "sync.failed":
                            try home.succeed(["mv", "\(remote).away", remote])
                        default: break
                        }
                    } catch {
                        Issue.record(error)
                    }
                }) { await committer.synchronize(.push) }
                let answer = try #require(asked.withLock { $0 })
                #expect(await answer.value == nil)
                #expect(try here.read("theirs") == "text\n")
            }
        }
    }
#endif
