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

    /// A header ends with its line: a name that has more is neither written nor read.
    @Test(arguments: ["a\nb", "a\r\nb", "a\rb", "a\"\u{301}\n"]) func aNameWithALineBreakSpoilsNoFile(
        _ name: String
    ) throws {
        let folder = TestFolder()
        try folder.write("config", "[b \"old\"]\n\tkey = 1\n")
        let file = try ConfigFile(folder.path.appending("config"))
        for edit in [
            ConfigFile.Edit.set("a.\(name).key", "1"), .setValues("a", subsection: name, [.init("key", "1")]),
            .renameSection("b", from: "old", to: name),
        ] {
            let error = #expect(throws: ConfigFileError.self, "\(edit)") { try file.edit([edit]) }
            #expect(error?.message.contains("line break") == true, "\(edit)")
        }
        #expect(try folder.run(["cat", "config"]).text == "[b \"old\"]\n\tkey = 1\n")
        try folder.write("config", "[a \"\(name)\"]\n\tkey = 1\n")
        if name.utf8.contains(10) {
            #expect(throws: ConfigFileError.self) { try ConfigFile(folder.path.appending("config")) }
        }
    }

    /// A mark behind a quote, and a line break in a value, are written as git reads them.
    @Test func whatIsWrittenIsRead() throws {
        let folder = TestFolder()
        try folder.write("config", "[b \"old\"]\n\tkey = 1\n")
        let file = try ConfigFile(folder.path.appending("config"))
        let (name, value) = ("a\"\u{301}\\\u{301}", "/bin/\"\u{301}\n\\\u{301}x\r\ny")
        try file.edit([
            .setValues("a", subsection: name, [.init("key", value)]),
            .renameSection("b", from: "old", to: name),
        ])
        let read = try ConfigFile(folder.path.appending("config"))
        #expect(read.entries.map(\.subsection) == [name, name] && read.entries.map(\.value).contains(value))
        #expect(try folder.run(["git", "config", "-f", "config", "a.\(name).key"]).text == value + "\n")
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
