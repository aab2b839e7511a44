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

    /// The last one counts; one line takes the place of all.
    @Test(arguments: [
        "[a]\n\tkey = 1\n\tkey = 2\n", "[a]\n\tkey\n\tkey\n\tkey = 2\n",
        "[a]\n\tkey = 1\n[b]\n[a]\n\tKEY = 2\n",
    ])
    func aKeyThatStandsTwiceIsSet(_ text: String) throws {
        let folder = TestFolder()
        try folder.write("config", text)
        let file = try ConfigFile(folder.path.appending("config"))
        try file.set("a.key", "3")
        #expect(file.entries.filter { $0.section == "a" }.map(\.value) == ["3"])
    }

    /// What cannot be removed is said, and stays.
    @Test func aKeyInTheLineOfItsHeader() throws {
        let folder = TestFolder()
        try folder.write("config", "[a] key = 1\n")
        let file = try ConfigFile(folder.path.appending("config"))
        let error = #expect(throws: ConfigFileError.self) { try file.delete("a.key") }
        #expect(error?.message.contains("a line of its own") == true)
        #expect(try folder.run(["cat", "config"]).text == "[a] key = 1\n")
    }
}
