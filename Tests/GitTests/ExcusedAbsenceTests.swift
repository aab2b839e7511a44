import Glibc
import SystemPackage
import Testing

@testable import Git

/// Files whose absence means nothing, in all kinds of indexes.
@Suite struct ExcusedAbsenceTests {
    /// What removing `kept`, which is marked, and `gone` makes of the tree.
    private func removals(_ work: TestRepository, _ repository: Repository) throws -> [FilePath] {
        for name: FilePath in ["kept", "d/kept", "gone", "d/gone"] { work.remove(name) }
        let parent = try repository.commit(at: "refs/heads/main")
        return try repository.plannedTree(parent: parent, paths: ["kept", "gone", "d"]).changes
            .filter { $0.kind == .removed }.map(\.path).sorted { $0.string < $1.string }
    }

    private func filled() throws -> TestRepository {
        let work = try TestRepository()
        for name: FilePath in ["kept", "d/kept", "gone", "d/gone"] { try work.write(name, "1") }
        try work.git("add", "-A")
        try work.git("commit", "-q", "-m", "All")
        return work
    }

    @Test(arguments: ["2", "4"], ["--skip-worktree", "--assume-unchanged"])
    func aMarkedFileIsNotRemoved(_ version: String, _ mark: String) throws {
        let work = try filled()
        try work.git("update-index", "--index-version", version)
        try work.git("update-index", mark, "kept", "d/kept")
        #expect(try removals(work, work.open()) == ["d/gone", "gone"])
    }

    /// libgit2 does not read it.
    @Test func anIndexWithoutAChecksumExcusesToo() throws {
        let work = try filled()
        try work.git("update-index", "--skip-worktree", "kept", "d/kept")
        var index = try work.folder.run(["cat", ".git/index"], in: work.path).output
        index.replaceSubrange((index.count - 20)..., with: repeatElement(0, count: 20))
        try work.write(".git/index", index)
        #expect(try removals(work, work.open()) == ["d/gone", "gone"])
    }

    /// The daemon opened its repository long before the user marked a file.
    @Test func aMarkThatIsSetLaterCounts() throws {
        let work = try filled()
        let repository = try work.open()
        #expect(try removals(work, repository) == ["d/gone", "d/kept", "gone", "kept"])
        try work.git("reset", "-q", "--hard")
        try work.git("update-index", "--skip-worktree", "kept", "d/kept")
        #expect(try removals(work, repository) == ["d/gone", "gone"])
    }
}
