import SystemPackage
import Testing

@testable import Git

@Suite struct ConfigFileTests {
    /// libgit2 dies of a key without a value that it is to remove.
    @Test(arguments: [
        "[a]\n\tkey\n", "[a]\n\tkey = 1\n\tKey ; why\n", "[a]\n\tkey\n\tkey\n\tkey = 1\n", "[a]\n\tkey # end",
    ])
    func aKeyWithoutAValueIsRemoved(_ text: String) throws {
        let folder = TestFolder()
        try folder.write("config", text + "\n[b]\n\tkey\n")
        let file = try ConfigFile(folder.path.appending("config"))
        try file.edit([.delete("a.key")])
        #expect(file.entries.map(\.section) == ["b"])
        #expect(try folder.run(["cat", "config"]).text.hasSuffix("\n[b]\n\tkey\n"))
    }
}
