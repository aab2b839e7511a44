import OpenPGP
import Stores
import System
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Commits of ours that a reset takes out of the branch without having seen them: it read HEAD before they were made.
@Suite struct ResetCommitTests {
    /// What happens to the branch before anybody looks at it.
    enum Next: CaseIterable {
        case nothing, anotherCommit, aMerge
    }

    /// Undoes what was committed since, as `git reset --hard` does that began there.
    private func reset(_ machine: Machine, to commit: String) throws {
        try machine.git("read-tree", "--reset", "-u", commit)
        try machine.git("update-ref", "-m", "reset: moving to HEAD", "HEAD", commit)
    }

    /// Who resets on purpose, and keeps the files, may not want them committed at once.
    @Test func whatIsLeftByAResetIsCommittedBySync() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.save("a", "a")
            try await machine.commit()
            try machine.git("reset", "-q", "HEAD~1")
            machine.committer.lookAtBranch()
            try machine.save("b", "b")
            try await machine.commit()
            #expect(try machine.dirt == "?? a.gpg")
            #expect(await machine.committer.synchronizeNow(looking: true) == nil)
            #expect(try machine.dirt == "" && machine.names == ["a", "b"])
        }
    }

    @Test(arguments: Next.allCases) func whatItTookOutIsKept(before next: Next) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            let (machine, other) = (machines[0], machines[1])
            for one in machines { #expect(await one.committer.synchronizeNow() == nil) }
            let tip = try machine.git("rev-parse", "HEAD")
            for name in ["a", "b"] {
                try machine.save(name, name)
                try await machine.commit()
            }
            try reset(machine, to: tip)
            switch next {
            case .nothing: machine.committer.lookAtBranch()
            case .anotherCommit:
                try machine.save("c", "c")
                // What is found behind it waits for the next one.
                await machine.committer.commitPending()
            case .aMerge:
                try other.save("c", "c")
                #expect(await other.committer.synchronizeNow() == nil)
                #expect(await machine.committer.synchronizeNow() == nil)
            }
            try await machine.waitForConflicts(["a", "b"])
            // The last one may be there before it is noted.
            for _ in 0..<1000 where try machine.dirt != "" {
                await machine.committer.commitPending()
                try await Task.sleep(for: .milliseconds(10))
            }
            for name in try machine.names where name.contains(".conflict-") {
                #expect(try machine.read(name) == String(name.prefix(1)))
            }
            #expect(try machine.dirt == "")
        }
    }
}

/// Secrets that `git stash -u` removes at its end, though it had listed what it takes before they were saved.
@Suite struct StashedMeanwhileTests {
    /// When the file is gone: before the save was noted, or after that; and whether the stash is popped before the commit.
    @Test(arguments: [(true, false), (false, false), (true, true), (false, true)])
    func whatIsSavedIsKept(isGoneBefore: Bool, isPopped: Bool) async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.write("other", "stashed")
            try machine.git("stash", "-u")
            let path = FilePath("a.gpg")
            let secret = try Array("saved".utf8).withUnsafeBytes { try SecretBytes(copying: $0) }
            let staged = try machine.store.stage(secret, for: path)
            _ = try staged.publish(as: path)
            let held = staged.held()
            if isGoneBefore { try machine.store.root.unlink(path) }
            machine.committer.note(.saved(path), as: held)
            if !isGoneBefore { try machine.store.root.unlink(path) }
            var told: Task<Void, Never>?
            if isPopped {
                try machine.git("stash", "pop")
                // As the watch over the branch tells.
                told = Task { await machine.committer.branchMayHaveMoved(isStash: true) }
                while machine.committer.state.withLock({ $0.lastStash == nil }) { await Task.yield() }
            }
            await machine.committer.commitPending()
            // What was brought back is looked for an hour later, else.
            told?.cancel()
            await told?.value
            try await machine.waitForConflicts(["a"])
            let kept = try machine.names.filter { $0.contains(".conflict-") }
            #expect(try kept.map { try machine.read($0) } == ["saved"])
        }
    }
}

extension StashedMeanwhileTests {
    /// git had listed our temporary file, and stashed it; nobody finds the secret under that name.
    @Test func aStashedTemporaryIsNoCopy() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            #expect(await machine.committer.synchronizeNow() == nil)
            try machine.save("a", "saved")
            let temporary = "\(Store.temporaryPrefix)1-1.tmp"
            try home.succeed(["cp", "a.gpg", temporary], in: machine.path)
            try machine.git("stash", "-u", "--", temporary)
            try machine.store.root.unlink("a.gpg")
            await machine.committer.commitPending()
            try await machine.waitForConflicts(["a"])
        }
    }
}

extension Machine {
    /// Waits until each of these secrets has one conflict file, and no other has one.
    fileprivate func waitForConflicts(_ originals: [String]) async throws {
        var found: [String] = []
        for _ in 0..<1000 {
            found = try names.filter { $0.contains(".conflict-") }
                .map { String($0.prefix { $0 != "." }) }
            if found == originals { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw TestFailure("conflict files of \(found) instead of \(originals)")
    }
}
