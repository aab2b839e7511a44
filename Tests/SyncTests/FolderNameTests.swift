import CLinux
import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// A folder's name can mean another folder a moment later; what is committed is what lies on the disk, down to the
/// last file.
@Suite(.serialized) struct FolderNameTests {
    private func rename(_ machine: Machine, _ from: String, _ to: String) throws {
        try machine.store.root.rename(FilePath(from), to: FilePath(to))
        machine.committer.note(.renamed(from: FilePath(from), to: FilePath(to)))
    }

    private func expectCommitted(_ machine: Machine, _ files: String...) throws {
        #expect(
            try machine.git("ls-files")
                == (files + [".gitattributes", ".gpg-id"]).sorted().joined(separator: "\n"))
        #expect(try machine.git("ls-tree", "-r", "--name-only", "HEAD") == machine.git("ls-files"))
        #expect(try machine.dirt == "")
    }

    @Test(.slow) func theNameOfARenamedFolderComesBack() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a/x", "old\n")
            try await machine.commit()
            try rename(machine, "a", "a.old")
            try machine.save("a/y", "new\n")
            try await machine.commit()
            try expectCommitted(machine, "a.old/x.gpg", "a/y.gpg")
        }
    }

    @Test func twoFoldersChangePlaces() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a/x", "1\n")
            try machine.save("a/deep/er", "1\n")
            try machine.save("b/y", "2\n")
            try await machine.commit()
            try rename(machine, "a", "t")
            try rename(machine, "b", "a")
            try rename(machine, "t", "b")
            try await machine.commit()
            try expectCommitted(machine, "a/y.gpg", "b/deep/er.gpg", "b/x.gpg")
        }
    }

    /// As RENAME_EXCHANGE does it: both names are there all the time.
    @Test func twoFoldersAreExchanged() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a/x", "1\n")
            try machine.save("b/y", "2\n")
            try await machine.commit()
            let (a, b) = (machine.path.appending("a").string, machine.path.appending("b").string)
            #expect(passdir_renameat2(AT_FDCWD, a, AT_FDCWD, b, PASSDIR_RENAME_EXCHANGE) == 0)
            machine.committer.note(.saved("a"))
            machine.committer.note(.saved("b"))
            try await machine.commit()
            try expectCommitted(machine, "a/y.gpg", "b/x.gpg")
        }
    }

    @Test(.slow) func aFileTakesTheNameOfAFolderInAFolderThatTakesAnothersName() async throws {
        try await TestHome.with { home in
            let machine = try home.machines(1)[0]
            try machine.save("a/s.gpg/x", "1\n")
            try machine.save("b/s", "2\n")
            try await machine.commit()
            try rename(machine, "a", "c")
            try rename(machine, "b", "a")
            try await machine.commit()
            try expectCommitted(machine, "a/s.gpg", "c/s.gpg/x.gpg")
        }
    }
}
