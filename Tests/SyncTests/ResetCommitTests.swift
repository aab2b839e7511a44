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
                try await machine.commit()
            case .aMerge:
                try other.save("c", "c")
                #expect(await other.committer.synchronizeNow() == nil)
                #expect(await machine.committer.synchronizeNow() == nil)
            }
            try await machine.waitForConflicts(["a", "b"])
            try await machine.commit()
            for name in try machine.names where name.contains(".conflict-") {
                #expect(try machine.read(name) == String(name.prefix(1)))
            }
            #expect(try machine.dirt == "")
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
