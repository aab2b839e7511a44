import Glibc
import SystemPackage
import Testing

@testable import Git

/// Files that say that they are larger than memory: taken at their word, they would end this process.
@Suite struct ImpossibleSizeTests {
    /// Sparse: it takes no room.
    private static let size = 1 << 40

    @Test func aFileLargerThanMemoryIsNotRead() throws {
        let work = try TestRepository()
        let repository = try work.open()
        for name in ["a", "b.gpg"] { try work.write(FilePath(name), "one") }
        try repository.record(["a", "b.gpg"])
        truncate(work.path.pushing("b.gpg").string, Self.size)
        expectGitError(.other) { try repository.record(["b.gpg"]) }
        try work.write("a", "two")
        try repository.record(["a"])
        #expect(try work.git("show", "HEAD:a") == "two")
    }

    @Test func anIndexLargerThanMemoryIsNotRead() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write("a", "one")
        try repository.record(["a"])
        truncate(work.path.pushing(".git/index").string, Self.size)
        try work.write("a", "two")
        expectGitError(.other) { try repository.record(["a"]) }
    }

    @Test func theListOfAShallowCloneIsNotReadWhole() throws {
        let work = try TestRepository()
        let repository = try work.open()
        try work.write(".git/shallow", "")
        truncate(work.path.pushing(".git/shallow").string, Self.size)
        expectGitError(.other) { _ = try ShallowHistory.boundary(of: repository) }
    }
}
