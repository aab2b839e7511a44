import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// As `MergeTests`, with `sync.integration = rebase`: the history stays one line.
@Suite(.serialized) struct RebaseTests {
    private func sync(_ machines: Machine...) async throws {
        for machine in machines {
            if let complaint = await machine.committer.synchronizeNow() { throw TestFailure(complaint) }
        }
    }

    private func start(home: TestHome) async throws -> [Machine] {
        let machines = try home.machines(2) { $0.rebases = true }
        try machines[0].save("mail/imap", "secret\nuser: me\nurl: there\n")
        try await sync(machines[0], machines[1])
        return machines
    }

    /// Both have seen everything, in one line of commits, with clean working trees.
    private func expectOneLine(_ machines: [Machine], _ subjects: [String]) throws {
        let tip = try machines[0].git("rev-parse", "HEAD")
        for machine in machines {
            #expect(try machine.git("rev-parse", "HEAD") == tip)
            #expect(try machine.dirt == "")
            #expect(machine.committer.status.lastError == nil)
            #expect(try machine.git("rev-list", "--merges", "HEAD") == "")
            _ = try machine.git("fsck", "--strict")
        }
        let log = try machines[0].git("log", "-\(subjects.count)", "--format=%s").split(separator: "\n")
        #expect(log.map(String.init) == subjects)
    }

    private func commit(_ machine: Machine) async { await machine.committer.commitPending() }

    @Test(.slow) func ourCommitsGoOntoTheirs() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("mail/imap", "changed\nuser: me\nurl: there\n")
            try await sync(machines[0])
            // Two commits of our own, one with lines of the same secret, and with somebody else's name.
            try machines[1].git("config", "user.name", "Second Person")
            try machines[1].save("a", "first\n")
            await commit(machines[1])
            try machines[1].save("mail/imap", "secret\nuser: you\nurl: there\n")
            await commit(machines[1])
            let times = try machines[1].git("log", "-2", "--format=%at %an")
            try await sync(machines[1], machines[0])
            #expect(try machines[0].read("mail/imap") == "changed\nuser: you\nurl: there\n")
            #expect(try machines[0].read("a") == "first\n")
            #expect(try machines[0].git("log", "-2", "--format=%at %an") == times)
            try expectOneLine(
                machines,
                [
                    "Edit password for mail/imap using passdir.", "Add given password for a to store.",
                    "Edit password for mail/imap using passdir.",
                ])
        }
    }

    @Test(.slow) func theSameLineKeepsBothAndEachVersion() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("mail/imap", "of 0\nuser: me\nurl: there\n")
            try await sync(machines[0])
            for text in ["of 1, earlier", "of 1, later"] {
                try machines[1].save("mail/imap", "\(text)\nuser: me\nurl: there\n")
                await commit(machines[1])
            }
            try await sync(machines[1], machines[0])
            // The remote's version keeps the name; nothing that was saved is lost.
            #expect(try machines[0].read("mail/imap") == "of 0\nuser: me\nurl: there\n")
            let kept = try machines[0].names.filter { $0.contains(".conflict-") }
                .map { try machines[0].read($0)?.split(separator: "\n").first.map(String.init) }
            #expect(Set(kept) == ["of 1, earlier", "of 1, later"])
            #expect(ConflictList(machines[1].store).known.count == 2)
            #expect(try machines[0].git("log", "-1", "--format=%b").contains(".conflict-"))
            try expectOneLine(
                machines, Array(repeating: "Edit password for mail/imap using passdir.", count: 3))
        }
    }

    @Test(.slow) func whatBothDidAlikeIsLeftOut() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            for machine in machines { try machine.remove("mail/imap") }
            try await sync(machines[0])
            try machines[1].save("b", "more\n")
            try await sync(machines[1], machines[0])
            #expect(try machines[0].names == ["b"])
            #expect(
                try machines[1].git("rev-list", "--count", "HEAD")
                    == machines[0].git("rev-list", "--count", "HEAD"))
            #expect(try machines[0].git("rev-list", "--merges", "HEAD") == "")
        }
    }

    /// A merge that the user made is nothing that could be told anew in one line: it is merged.
    @Test func aMergeOfTheUserIsMerged() async throws {
        try await TestHome.with { home in
            let machines = try await start(home: home)
            try machines[0].save("a", "of 0\n")
            try await sync(machines[0])
            try machines[1].git("switch", "-q", "-c", "side")
            try machines[1].git("commit", "-q", "--allow-empty", "-m", "Side.")
            try machines[1].git("switch", "-q", "main")
            try machines[1].git("merge", "-q", "--no-ff", "-m", "Mine.", "side")
            try await sync(machines[1], machines[0])
            #expect(try machines[1].read("a") == "of 0\n")
            #expect(try machines[0].git("rev-list", "--count", "--merges", "HEAD") == "2")
            #expect(try machines[0].git("rev-parse", "HEAD") == machines[1].git("rev-parse", "HEAD"))
        }
    }
}
