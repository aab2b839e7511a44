import Glibc
import Stores
import Synchronization
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// What is saved while git has something unfinished, or has no branch checked out: none of it is lost, whatever git does to
/// the files meanwhile and at the end.
@Suite struct WaitingTests {
    /// Something of the user's during which saves wait, and an end of it that takes back what was saved to secrets that
    /// git knows.
    struct Work: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var begin: String
        var end: String
        /// Secrets that git did not know are taken away, too.
        var takesNew = false
    }

    private static let stopped = "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>&1"
    private static let merging = """
        git switch -q -c side HEAD~1; echo theirs >notes; git commit -qam side
        git switch -q main; ! git merge -q side 2>/dev/null
        """
    private static let rebase = Work(
        testDescription: "rebase --abort", begin: stopped, end: "git rebase --abort")
    static let works = [
        rebase,
        Work(
            testDescription: "add, rebase --abort", begin: stopped, end: "git add -A; git rebase --abort",
            takesNew: true),
        Work(
            testDescription: "checkout, clean, rebase --continue", begin: stopped,
            end: "git checkout -qf; git clean -qf; git rebase --continue 2>&1", takesNew: true),
        Work(
            testDescription: "add, merge --abort", begin: merging, end: "git add -A; git merge --abort",
            takesNew: true),
        Work(
            testDescription: "bisect reset", begin: "git bisect start -q HEAD HEAD~2 2>&1",
            end: "git checkout -qf main; git bisect reset 2>&1"),
        Work(
            testDescription: "a detached HEAD", begin: "git checkout -q --detach",
            end: "git checkout -qf main"
        ),
        Work(
            testDescription: "an older commit", begin: "git checkout -q HEAD~1", end: "git checkout -qf main"),
    ]

    private func shell(_ script: String, _ machine: Machine) throws {
        try machine.home.succeed(["bash", "-ec", script], in: machine.path)
    }

    private func withMachine(_ body: @escaping (Machine) async throws -> Void) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            for name in ["s", "t"] { try machine.save(name, "old\n") }
            try await machine.commit()
            for number in 1...2 {
                try shell("echo \(number) >notes; git add notes; git commit -qm notes", machine)
            }
            try await body(machine)
        }
    }

    /// The texts of a secret and of what is kept beside it.
    private func texts(of name: String, _ machine: Machine) throws -> [String] {
        let names = try machine.names.filter { $0 == name || $0.hasPrefix("\(name).conflict-") }
        return try names.compactMap { try machine.read($0) }.sorted()
    }

    private func expectAllCommitted(_ machine: Machine) async throws {
        #expect(await machine.committer.synchronizeNow(looking: true) == nil)
        #expect(try machine.dirt == "")
        #expect(try machine.git("for-each-ref", "refs/passdir/waiting") == "")
    }

    /// Whoever saves a secret again right after the end may not have seen that git took something back; once it is written
    /// over, nobody can tell whether it did. What nobody saves again is kept where git took it back.
    @Test(.slow, arguments: works) func aSaveRightAfterTheEndHidesNone(_ work: Work) async throws {
        try await withMachine { machine in
            try shell(work.begin, machine)
            for name in ["s", "t", "new", "other"] { try machine.save(name, "during\n") }
            await machine.committer.commitPending()
            try shell(work.end, machine)
            for name in ["s", "new"] { try machine.save(name, "after\n") }
            await machine.committer.commitPending()
            try await expectAllCommitted(machine)
            for name in ["s", "new"] {
                #expect(try texts(of: name, machine) == ["after\n", "during\n"], "\(name)")
            }
            #expect(try texts(of: "t", machine) == ["during\n", "old\n"])
            #expect(try texts(of: "other", machine) == ["during\n"])
            let isBeside = try !machine.names.contains("other")
            #expect(isBeside == work.takesNew)
        }
    }

    /// git removes a file before it writes the one that takes its place, and what it has written lies there for a while
    /// before it has finished.
    @Test(.slow, arguments: ["rm s.gpg", "git checkout -q HEAD -- s.gpg", "git checkout -q main -- s.gpg"])
    func whatGitDoesToAFileIsNoSave(_ deed: String) async throws {
        try await withMachine { machine in
            try machine.save("s", "older\n")
            try await machine.commit()
            try shell(Self.stopped, machine)
            try machine.save("s", "during\n")
            await machine.committer.commitPending()
            try shell(deed, machine)
            for _ in 0..<2 {
                _ = await machine.committer.lookForUncommitted()
                await machine.committer.commitPending()
            }
            try shell("git rebase --abort", machine)
            try await expectAllCommitted(machine)
            #expect(try texts(of: "s", machine) == ["during\n", "older\n"])
        }
    }

    /// What git does to a file right behind a save, before it is kept, is not what was saved.
    @Test(arguments: [
        "git show HEAD:s.gpg >s.gpg", ": >s.gpg", "rm s.gpg", "rm s.gpg; mkdir -p s.gpg",
        "git show HEAD:t.gpg >s.gpg; git add s.gpg",
    ])
    func whatWasSavedIsKeptMeanwhile(_ deed: String) async throws {
        try await withMachine { machine in
            try shell(Self.stopped, machine)
            for name in ["s", "d/new"] { try machine.save(name, "during\n") }
            try shell(deed + "; rm -r d", machine)
            await machine.committer.commitPending()
            let kept = try machine.git("ls-tree", "-r", "--name-only", "refs/passdir/waiting")
            #expect(kept.contains("s.gpg") && kept.contains("d/new.gpg"))
            try shell("rm -rf s.gpg; git checkout -q HEAD -- s.gpg; git rebase --abort", machine)
            try await expectAllCommitted(machine)
            #expect(try texts(of: "s", machine) == ["during\n", "old\n"])
            #expect(try machine.names.filter { $0.hasPrefix("d/new.conflict-") }.count == 1)
        }
    }

    /// What is removed or renamed through the mount meanwhile does not come back, and what is saved again counts.
    @Test(.slow) func whatTheUserDoesMeanwhileCounts() async throws {
        try await withMachine { machine in
            for name in ["a", "b", "c", "d/e"] { try machine.save(name, "old\n") }
            try await machine.commit()
            try shell("echo 3 >notes; git commit -qam notes", machine)
            try shell(Self.stopped, machine)
            for name in ["a", "b", "c", "d/e"] { try machine.save(name, "during\n") }
            await machine.committer.commitPending()
            try machine.store.root.unlink("a.gpg")
            machine.committer.note(.removed("a.gpg"))
            try machine.store.root.rename("b.gpg", to: "b2.gpg")
            machine.committer.note(.renamed(from: "b.gpg", to: "b2.gpg"))
            try machine.save("c", "last\n")
            try machine.store.root.rename("d", to: "d2")
            machine.committer.note(.renamed(from: "d", to: "d2"))
            await machine.committer.commitPending()
            try shell("git stash -q -u; git rebase --abort; git stash pop -q", machine)
            try await expectAllCommitted(machine)
            #expect(try machine.names == ["b2", "c", "d2/e", "s", "t"])
            #expect(try machine.read("b2") == "during\n")
            #expect(try machine.read("c") == "last\n")
            #expect(try machine.read("d2/e") == "during\n")
        }
    }

    /// Nor where what is kept has not heard of it when a branch is checked out again.
    @Test func whatWasRemovedDoesNotComeBackAsAConflict() async throws {
        try await withMachine { machine in
            try shell("git checkout -q --detach", machine)
            for name in ["a", "b", "d/e", "f/g"] { try machine.save(name, "during\n") }
            await machine.committer.commitPending()
            try machine.store.root.unlink("a.gpg")
            try machine.store.root.rename("b.gpg", to: "c.gpg")
            try machine.store.root.rename("d", to: "d2")
            try machine.store.root.rename("f", to: "f2")
            // As if each was noted right before the branch came back: nothing was kept since.
            machine.committer.state.withLock { values in
                values.isKeeping = true
                for change in [
                    Change.removed("a.gpg"), .renamed(from: "b.gpg", to: "c.gpg"),
                    .renamed(from: "d", to: "d2"),
                    .renamed(from: "f", to: "f2"),
                ] { values.pending.add(change) }
            }
            try machine.save("f/h", "again\n")
            try shell("git switch -q main", machine)
            try await expectAllCommitted(machine)
            #expect(try machine.names == ["c", "d2/e", "f/h", "f2/g", "s", "t"])
        }
    }

    /// Also before what is kept has lost it.
    @Test func whatIsTakenAwayAgainWaitsNoMore() async throws {
        try await withMachine { machine in
            try shell("git checkout -q --detach", machine)
            try machine.save("new", "during\n")
            await machine.committer.commitPending()
            #expect(machine.committer.wholeStatus.pendingChanges == 1)
            try machine.store.root.unlink("new.gpg")
            let counts = Mutex<[Int]>([])
            await Fault.$onPoint.withValue({ point in
                guard point == "waiting.tree" else { return }
                counts.withLock { $0.append(machine.committer.wholeStatus.pendingChanges) }
            }) {
                machine.committer.note(.removed("new.gpg"))
                await machine.committer.commitPending()
            }
            #expect(counts.withLock(\.self) == [0])
        }
    }
}
