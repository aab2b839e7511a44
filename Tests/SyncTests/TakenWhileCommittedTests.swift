import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What git takes away while a batch is committed, by what the committer is told of it.
@Suite struct TakenWhileCommittedTests {
    /// Saves secrets whose commit has begun, and tells that a stash was there.
    private func batch(_ names: [String], _ machine: Machine, _ state: StoreState) throws -> PendingChanges {
        for name in names {
            try machine.write(name, name)
            state.note(.saved(FilePath("\(name).gpg")))
        }
        return state.withLock { values in
            values.lastStash = .max
            defer { values.pending = PendingChanges() }
            return values.pending
        }
    }

    private func conflicts(_ machine: Machine) throws -> [String] {
        try machine.names.filter { $0.contains(".conflict-") }
    }

    /// A look at the working tree is not the program that saved it anew.
    @Test func aLookChangesNothing() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            let batch = try batch(["a"], machine, state)
            try machine.store.root.unlink("a.gpg")
            #expect(state.noteFound(.saved("a.gpg")))
            try CommitWriter(state).commit(batch)
            #expect(try conflicts(machine).map { try machine.read($0) } == ["a"])
        }
    }

    /// Nor does it make what was saved forgotten where the commit fails.
    @Test func aLookDoesNotMakeItForgotten() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            let earlier = try batch(["a"], machine, state)
            try machine.store.root.unlink("a.gpg")
            state.noteFound(.saved("a.gpg"))
            let again = state.withLock { values in
                values.pending.putBack(earlier)
                defer { values.pending = PendingChanges() }
                return values.pending
            }
            try CommitWriter(state).commit(again)
            #expect(try conflicts(machine).map { try machine.read($0) } == ["a"])
        }
    }

    /// The first conflict file is taken away while the second one is written.
    @Test func aConflictFileIsHeldAtOnce() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            let earlier = try batch(["a", "b"], machine, state)
            for name in ["a.gpg", "b.gpg"] { try machine.store.root.unlink(FilePath(name)) }
            let watch = Task.detached {
                for _ in 0..<1_000_000 {
                    guard let name = try conflicts(machine).first(where: { $0.hasPrefix("a.") }) else {
                        continue
                    }
                    return try machine.store.root.unlink(FilePath(name + ".gpg"))
                }
                throw TestFailure("there was no conflict file")
            }
            let writer = CommitWriter(state)
            try writer.commit(earlier)
            try await watch.value
            while true {
                let batch = state.withLock { values in
                    defer { values.pending = PendingChanges() }
                    return values.pending
                }
                if batch.isEmpty { break }
                try writer.commit(batch)
            }
            #expect(try Set(conflicts(machine).map { try machine.read($0) }) == ["a", "b"])
        }
    }

    @Test func gitOverlooksWhatIsBeingSaved() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            let exclude = machine.path.appending(".git/info/exclude")
            try home.succeed(["sh", "-c", "printf mine >.git/info/exclude"], in: machine.path)
            #expect(await machine.committer.mendOnce())
            let temporary = "\(Store.temporaryPrefix)1-1.tmp"
            try home.succeed(["touch", temporary, "mine"], in: machine.path)
            #expect(try machine.dirt == "")
            try machine.git("clean", "-dfq")
            try machine.git("stash", "-u")
            try home.succeed(["ls", temporary], in: machine.path)
            // Once is enough.
            let once = try home.succeed(["cat", exclude.string])
            #expect(String(decoding: once, as: UTF8.self).hasPrefix("mine\n# passdir"))
            let next = try Machine(home, machine.path).committer
            #expect(await next.mendOnce())
            #expect(try home.succeed(["cat", exclude.string]) == once)
        }
    }
}
