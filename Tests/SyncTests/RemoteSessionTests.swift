import Git
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What a remote has, fetches and pushes, without a committer.
@Suite struct RemoteSessionTests {
    private func session(_ machine: Machine) throws -> RemoteSession {
        try #require(try RemoteSession(at: FilePath(), machine.aloneState(), RemoteMemory()))
    }

    @Test func whatIsPushedIsKnown() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a", "one\n")
            try await machine.commit()
            let session = try session(machine)
            #expect(session.target.localRef == "refs/heads/main" && session.target.remote == "origin")
            let tip = try #require(try session.tip())
            #expect(try session.tipToPush() == tip)
            try await session.push()
            #expect(try session.tipToPush() == nil)
            #expect(try session.known() == tip)
            #expect(try machine.git("ls-remote", "origin", "refs/heads/main").hasPrefix(tip.hex))
            #expect(try machine.git("rev-parse", "refs/remotes/origin/main") == tip.hex)
            #expect(session.state.status.lastPush != nil && session.state.status.unpushedCommits == 0)
        }
    }

    @Test(.slow) func whatOthersPushedIsFetchedAndNotTakenIn() async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("a", "one\n")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            let session = try session(machines[1])
            let before = try machines[1].git("rev-parse", "HEAD")
            #expect(try await session.fetch())
            #expect(try session.known()?.hex == machines[0].git("rev-parse", "HEAD"))
            #expect(try await session.ask() == session.known())
            #expect(try machines[1].git("rev-parse", "HEAD") == before)
            #expect(try machines[1].git("for-each-ref", "refs/passdir/incoming") == "")
        }
    }

    /// The repository is opened anew after a transfer: what the user configures meanwhile counts.
    @Test func anotherURLIsAnotherRemote() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let session = try session(machine)
            _ = try await session.fetch()
            #expect(!session.isOtherRemote)
            try home.succeed(["cp", "-r", "m0.git", "other.git"])
            try machine.git("remote", "set-url", "origin", home.path("other.git").string)
            try session.reopen()
            #expect(session.isOtherRemote)
            try machine.git("remote", "remove", "origin")
            #expect(try RemoteSession(at: FilePath(), session.state, session.memory) == nil)
        }
    }
}
