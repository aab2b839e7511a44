import Git
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What comes from a remote is taken in, without a committer.
@Suite struct IntegratorTests {
    /// Two machines with a secret; the first one pushes a change of it, the second one fetches that.
    private func fetched(
        _ home: TestHome, rebasing: Bool = false, _ change: (Machine) async throws -> Void
    ) async throws -> (Machine, Integrator, RemoteSession) {
        let machines = try home.machines(2)
        try machines[0].save("a", "one\ntwo\nthree\n")
        #expect(await machines[0].committer.synchronizeNow() == nil)
        #expect(await machines[1].committer.synchronizeNow() == nil)
        try await change(machines[1])
        try machines[0].save("a", "first\ntwo\nthree\n")
        #expect(await machines[0].committer.synchronizeNow() == nil)
        let state = machines[1].aloneState { $0.rebases = rebasing }
        let session = try #require(try RemoteSession(at: FilePath(), state, RemoteMemory()))
        #expect(try await session.fetch())
        return (machines[1], Integrator(state, writer: CommitWriter(state)), session)
    }

    @Test(.slow) func aBranchMovesForward() async throws {
        try await TestHome.with { home in
            let (machine, integrator, session) = try await fetched(home) { _ in }
            try await integrator.integrate(session) {}
            #expect(try machine.git("rev-parse", "HEAD") == session.known()?.hex)
            #expect(try machine.read("a") == "first\ntwo\nthree\n")
            #expect(try machine.dirt == "")
        }
    }

    @Test(.slow, arguments: [false, true]) func twoHistoriesMeet(rebasing: Bool) async throws {
        try await TestHome.with { home in
            let (machine, integrator, session) = try await fetched(home, rebasing: rebasing) { machine in
                try machine.save("a", "one\ntwo\nlast\n")
                try await machine.commit()
            }
            try await integrator.integrate(session) {}
            #expect(try machine.read("a") == "first\ntwo\nlast\n")
            #expect(try machine.dirt == "")
            let parents = try machine.git("log", "-1", "--format=%P").split(separator: " ").map(String.init)
            #expect(parents.count == (rebasing ? 1 : 2))
            #expect(try parents.last == session.known()?.hex)
        }
    }

    /// Whoever decides when commits are made is asked for one, and the merge begins anew with it.
    @Test(.slow) func anEditIsCommittedFirst() async throws {
        try await TestHome.with { home in
            let (machine, integrator, session) = try await fetched(home) {
                try $0.write("a", "one\ntwo\nlast\n")
            }
            let state = session.state
            var asked = 0
            try await integrator.integrate(session) {
                asked += 1
                let batch = state.withLock { values in
                    defer { values.pending = PendingChanges() }
                    return values.pending
                }
                try? integrator.writer.commit(batch)
            }
            #expect(asked > 0)
            #expect(try machine.read("a") == "first\ntwo\nlast\n")
            #expect(try machine.dirt == "")
        }
    }

    @Test func historiesWithoutACommonPastAreTheUsersToJoin() async throws {
        try await TestHome.with { home in
            let (machine, integrator, session) = try await fetched(home) { machine in
                try machine.git("checkout", "-q", "--orphan", "new")
                try machine.git("commit", "-q", "-m", "New")
                try machine.git("branch", "-q", "-M", "new", "main")
                try machine.git("branch", "-q", "--set-upstream-to=origin/main")
            }
            let before = try machine.git("rev-parse", "HEAD")
            let failure = await #expect(throws: SyncFailure.self) {
                try await integrator.integrate(session) {}
            }
            #expect(failure?.message.contains("has a history unrelated to this store's") == true)
            #expect(try machine.git("rev-parse", "HEAD") == before)
            let told = try await integrator.choose(.theirs, session) {}
            #expect(told?.contains("kept on the branch passdir-ours-") == true)
            #expect(try machine.git("rev-parse", "HEAD") == session.known()?.hex)
        }
    }
}
