import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Files that the user has told git not to have in the working tree: their absence is no removal.
@Suite struct SparseCheckoutTests {
    enum Word: CaseIterable, Sendable {
        case sparseCheckout, skipWorktree, assumeUnchanged
    }

    private func leaveOut(_ word: Word, on machine: Machine) throws {
        switch word {
        case .sparseCheckout:
            // What git takes for changed it would leave there, and not mark.
            try machine.git("update-index", "-q", "--refresh")
            try machine.git("sparse-checkout", "set", "--no-cone", "/*", "!/out/")
            return
        case .skipWorktree: try machine.git("update-index", "--skip-worktree", "out/x.gpg")
        case .assumeUnchanged: try machine.git("update-index", "--assume-unchanged", "out/x.gpg")
        }
        try machine.home.succeed(["rm", "-rf", machine.path.pushing("out").string])
    }

    @Test(.slow, arguments: Word.allCases) func absenceIsNoRemoval(_ word: Word) async throws {
        try await TestHome.with { home in
            let machines = try home.machines(2)
            try machines[0].save("out/x", "X")
            try machines[0].save("in/y", "Y")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            try leaveOut(word, on: machines[1])
            // The look at the start, and whatever else names it.
            await machines[1].committer.start()
            for path in ["out/x.gpg", "out"] { machines[1].committer.note(.removed(FilePath(path))) }
            try machines[1].save("in/z", "Z")
            try await machines[1].commit()
            #expect(try machines[1].git("ls-tree", "-r", "--name-only", "HEAD").contains("out/x.gpg"))
            // A merge with an edit of it, which is committed nowhere as a removal first.
            try machines[0].save("out/x", "X2")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(try machines[0].read("out/x") == "X2" && machines[0].read("in/z") == "Z")
            #expect(try machines[1].dirt == "")
            // And with its removal.
            try leaveOut(word, on: machines[1])
            try machines[0].remove("out/x")
            #expect(await machines[0].committer.synchronizeNow() == nil)
            #expect(await machines[1].committer.synchronizeNow() == nil)
            #expect(try machines[1].git("rev-parse", "HEAD") == machines[0].git("rev-parse", "HEAD"))
            #expect(try machines[1].git("ls-files").contains("out/x.gpg") == false)
            #expect(try machines[1].dirt == "")
        }
    }
}
