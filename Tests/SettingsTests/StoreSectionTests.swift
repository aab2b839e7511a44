import FoundationEssentials
import Git
import Glibc
import Settings
import SystemPackage
import Testing

/// Sections of stores are edited so that the file stays the user's own.
@Suite struct StoreSectionTests {
    private static let file = """
        # My stores.
        # The first comment belongs to the file.

        [commit]
        \tdelay = 5s
        # work: the team's
        [store "work"]
        \tpath = /w ; there
        [store "b \\" c"]
        \tpath = /b

        # the last one
        ; really
        [Store "last"]
        \tpath = /l

        """

    @Test func renamingKeepsEverythingElse() throws {
        let folder = Folder()
        try folder.write(Self.file)
        let configuration = try Configuration(file: folder.file)
        try configuration.renameStore(name: "b \" c", to: "d \\ \"e\"")
        #expect(
            try folder.text
                == Self.file.replacing("[store \"b \\\" c\"]", with: "[store \"d \\\\ \\\"e\\\"\"]"))
        #expect(try configuration.stores().map(\.name) == ["work", "d \\ \"e\"", "last"])
        try configuration.renameStore(name: "d \\ \"e\"", to: "b \" c")
        #expect(try folder.text == Self.file)
        expectError(.storeExists) { try configuration.renameStore(name: "work", to: "last") }
        expectError(.noStore) { try configuration.renameStore(name: "Work", to: "x") }
        expectError(.name) { try configuration.renameStore(name: "work", to: "") }
        #expect(try folder.text == Self.file)
    }

    @Test func movingTakesTheCommentsAlong() throws {
        let folder = Folder()
        try folder.write(Self.file)
        let configuration = try Configuration(file: folder.file)
        try configuration.moveStore(name: "last", to: .before("work"))
        #expect(try configuration.stores().map(\.name) == ["last", "work", "b \" c"])
        #expect(
            try folder.text.contains(
                "delay = 5s\n# the last one\n; really\n[Store \"last\"]\n\tpath = /l\n# work: the team's\n[store \"work\"]"
            ))
        try configuration.moveStore(name: "last", to: .after("b \" c"))
        #expect(try configuration.stores().map(\.name) == ["work", "b \" c", "last"])
        #expect(
            try folder.text.hasPrefix("# My stores.\n# The first comment belongs to the file.\n\n[commit]"))
        try configuration.moveStore(name: "work", to: .after("work"))
        expectError(.noStore) { try configuration.moveStore(name: "work", to: .after("nowhere")) }
        #expect(try configuration.value(Catalogue.commitDelay) == .seconds(5))
    }

    @Test func movingASectionWithoutANewlineAtItsEnd() throws {
        let folder = Folder()
        try folder.write("[store \"a\"]\n\tpath = /a\n[store \"b\"]\n\tpath = /b")
        let configuration = try Configuration(file: folder.file)
        try configuration.moveStore(name: "b", to: .before("a"))
        #expect(try folder.text == "[store \"b\"]\n\tpath = /b\n[store \"a\"]\n\tpath = /a\n")
    }

    @Test func keysAreSetAndTakenOut() throws {
        let folder = Folder()
        try folder.write(Self.file)
        let configuration = try Configuration(file: folder.file)
        try configuration.setStore(name: "work", values: [("mount", "false"), ("readOnly", "true")])
        let work = try #require(try configuration.stores().first)
        #expect(try work.value(Catalogue.storeInMount) == false)
        #expect(try work.value(Catalogue.storeReadOnly) == true)
        #expect(try work.value(Catalogue.storeInAutofill) == nil)
        try configuration.setStore(
            name: "work", values: [("MOUNT", nil), ("readOnly", nil), ("branch", nil)])
        #expect(try folder.text == Self.file)
        expectError(.value) { try configuration.setStore(name: "work", values: [("mount", "maybe")]) }
        expectError(.unknown) { try configuration.setStore(name: "work", values: [("colour", nil)]) }
    }

    @Test func everyWrongValueNamesItsLine() throws {
        let folder = Folder()
        for (key, text) in [
            ("mount", "perhaps"), ("autofill", "2"), ("readOnly", "nein"), ("authentication", "magic"),
            ("sshKey", "relative"), ("keyring", "x"), ("id", "1"), ("commitDelay", "soon"), ("path", "here"),
        ] {
            try folder.write("[store \"a\"]\n\n\t\(key) = \(text)\n")
            expectError(.value, line: 3) { try Configuration(file: folder.file).validate() }
        }
        try folder.write("[store \"a\"]\n\tmount = off\n\tauthentication = ssh-key\n")
        try Configuration(file: folder.file).validate()
    }

    @Test func aFileThatIsNoTextIsRefused() throws {
        let folder = Folder()
        try folder.write("[commit]\n\tdelay = 5s\n")
        let configuration = try Configuration(file: folder.file)
        let descriptor = open(folder.file.string, O_WRONLY | O_APPEND)
        let bytes = Array("[store \"a\"]\n\tpath = /".utf8) + [0xE4, 0xF6] + Array("\n".utf8)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
        expectError(.syntax, line: 4) { _ = try Configuration(file: folder.file) }
        expectError(.syntax, line: 4) { try configuration.set("commit.delay", "9s") }
        #expect(try configuration.value(Catalogue.commitDelay) == .seconds(5))
    }

    @Test func theLockOfAKilledProcessIsNoObstacle() throws {
        let folder = Folder()
        try folder.write("[commit]\n\tdelay = 5s\n")
        let configuration = try Configuration(file: folder.file)
        let lock = folder.file.string + ".lock"
        func hold(_ text: String) {
            let descriptor = open(lock, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
            _ = write(descriptor, text, text.utf8.count)
            close(descriptor)
        }
        hold("# passdir\n")
        try configuration.set("commit.delay", "6s")
        hold("# passdir\n")
        let living = open(lock, O_RDONLY)
        #expect(flock(living, LOCK_EX | LOCK_NB) == 0)
        expectError(.locked) { try configuration.set("commit.delay", "7s") }
        close(living)
        hold("[commit]\n")
        expectError(.locked) { try configuration.set("commit.delay", "7s") }
        #expect(try folder.text.contains("6s"))
    }
}
