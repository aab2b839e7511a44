import SystemPackage
import Testing

@testable import Sync

/// What a commit's message tells of renames.
@Suite struct ToldRenamesTests {
    private func former(_ path: FilePath, _ message: String) -> Set<FilePath> {
        Set(CommitMessage.TellingRenames(message).former(path))
    }

    @Test func secretsAndFoldersAreTold() {
        #expect(former("b.gpg", "Rename a to b.\n") == ["a.gpg"])
        #expect(
            former("net/x/y.gpg", "Change 2 secrets.\n\n- Rename web to net.\n- Remove z from store.\n") == [
                "web/x/y.gpg"
            ])
        #expect(former("network.gpg", "Rename web to net.\n") == [])
        // Where a name ends cannot be told.
        #expect(former("c.gpg", "Rename a to b to c.\n") == ["a to b.gpg"])
        #expect(former("b to c.gpg", "Rename a to b to c.\n") == ["a.gpg"])
    }

    /// Anybody may push a message: it holds up nobody, and what it does not say is not taken for told.
    @Test func whatIsTooMuchIsNotTold() {
        let long = "Rename " + String(repeating: "a to ", count: 12_000) + "b.\n"
        let told = CommitMessage.TellingRenames(long)
        #expect(!told.isWhole && told.former("b.gpg").isEmpty)
        let many = (0..<2000).map { "- Rename a\($0) to b\($0).\n" }.joined()
        let all = CommitMessage.TellingRenames(many)
        #expect(
            all.isWhole
                && (0..<2000).allSatisfy { all.former(FilePath("b\($0).gpg")) == [FilePath("a\($0).gpg")] })
    }
}
