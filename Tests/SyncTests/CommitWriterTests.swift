import Glibc
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Commits without a committer: a batch goes in, a commit comes out.
@Suite struct CommitWriterTests {
    private func batch(_ changes: Change...) -> PendingChanges {
        var batch = PendingChanges()
        for change in changes { batch.add(change) }
        return batch
    }

    @Test(.slow) func aBatchBecomesACommit() throws {
        try TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            let errands = Mutex(0)
            state.receive { _ in errands.withLock { $0 += 1 } }
            try machine.write("a", "one\n")
            try machine.write("b", "two\n")
            try CommitWriter(state).commit(batch(.saved("a.gpg"), .saved("b.gpg")))
            #expect(try machine.git("log", "-1", "--format=%s") == "Change 2 secrets.")
            #expect(try machine.dirt == "")
            // Nothing is left to be done.
            #expect(errands.withLock { $0 } == 0 && state.status.pendingChanges == 0)
            #expect(try state.status.lastCommit?.id == machine.git("rev-parse", "HEAD"))
        }
    }

    @Test(.slow) func eachChangeHasACommitWhereThatIsWanted() throws {
        try TestHome.with { home in
            let machine = try home.machines(1)[0]
            let writer = CommitWriter(machine.aloneState { $0.commitsEach = true })
            try machine.write("a", "one\n")
            try machine.write("b", "two\n")
            try writer.commit(batch(.saved("a.gpg"), .saved("b.gpg")))
            try machine.store.root.rename("a.gpg", to: "c.gpg")
            try writer.commit(batch(.renamed(from: "a.gpg", to: "c.gpg")))
            #expect(
                try machine.git("log", "-3", "--format=%s").split(separator: "\n") == [
                    "Rename a to c.", "Add given password for b to store.",
                    "Add given password for a to store.",
                ])
            #expect(try machine.dirt == "")
        }
    }

    /// Holds what cannot be committed beside the branches, and gives it back when git takes it out of the working tree.
    @Test(.slow) func whatCannotBeCommittedIsKept() throws {
        try TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            let writer = CommitWriter(state)
            try machine.write("a", "one\n")
            try writer.commit(batch(.saved("a.gpg")))
            try machine.git("checkout", "-q", "--detach")
            try machine.write("a", "two\n")
            #expect(throws: CommitError.self) { try writer.commit(batch(.saved("a.gpg"))) }
            let kept = "\(CommitWriter.waitingRef):a.gpg"
            #expect(try machine.git("rev-parse", kept) == machine.git("hash-object", "a.gpg"))
            try machine.git("checkout", "-q", "-f", "main")
            let part = try #require(try state.ownRepository())
            try writer.takeUpWaiting(part)
            #expect(ConflictList(machine.store).find().map(\.original) == ["a.gpg"])
            #expect(try machine.read("a") == "one\n")
        }
    }

    /// A commit that was killed leaves a note: what it names is found again, and told to whoever decides.
    @Test func whatAKilledCommitLeftIsFound() throws {
        try TestHome.with { home in
            let machine = try home.machines(1)[0]
            let state = machine.aloneState()
            try machine.write("a", "one\n")
            let git = machine.path.appending(".git")
            _ = try CommitJournal(["a.gpg"], gitDirectory: git)
            try machine.git("add", "a.gpg")
            // A program that another test starts right now has the note's lock until it is executed.
            try home.waitUntil("the note is taken up") {
                try CommitWriter(state).mend(try #require(try state.ownRepository()))
                return state.withLock { Array($0.pending.paths) } == ["a.gpg"]
            }
            #expect(try machine.git("diff", "--cached", "--name-only") == "")
            #expect(access(git.appending("passdir-commit").string, F_OK) != 0)
        }
    }
}
