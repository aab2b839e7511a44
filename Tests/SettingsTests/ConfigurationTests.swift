import FoundationEssentials
import Glibc
import Settings
import SystemPackage
import Testing

/// A short folder under /tmp, gone at the end of its life.
final class Folder {
    let path: FilePath

    init() {
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        path = FilePath(platformString: mkdtemp(&template)!)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path.string)
    }

    var file: FilePath { path.pushing("passdir/config") }

    func write(_ text: String) throws {
        mkdir(path.appending("passdir").string, 0o700)
        let descriptor = try FileDescriptor.open(
            file, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try descriptor.closeAfter { _ = try descriptor.writeAll(text.utf8) }
    }

    var text: String {
        get throws { try String(contentsOfFile: file.string, encoding: .utf8) }
    }

    func mode(_ path: FilePath) -> mode_t {
        var status = stat()
        lstat(path.string, &status)
        return status.st_mode & 0o777
    }
}

func expectError(
    _ code: SettingsError.Code, line: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    do {
        try body()
        Issue.record("no error was thrown", sourceLocation: sourceLocation)
    } catch let error as SettingsError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        #expect(error.line == line, "\(error)", sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}

@Suite struct ConfigurationTests {
    /// What is written there would become part of another value.
    @Test(arguments: ["[store \"a\"]\n\tpath = /x\\\n", "[commit] [store.other]\n"])
    func aSettingThatWouldGetLostIsRefused(_ text: String) throws {
        let folder = Folder()
        try folder.write(text)
        let configuration = try Configuration(file: folder.file)
        expectError(.syntax) { try configuration.set("commit.delay", "7s") }
        #expect(try folder.text == text)
    }

    @Test func withoutAFileEverythingHasItsDefault() throws {
        let folder = Folder()
        let configuration = try Configuration(file: folder.file)
        #expect(try configuration.value(Catalogue.commitDelay) == .seconds(1))
        #expect(try configuration.value(Catalogue.secretLimit) == 64 << 20)
        #expect(try configuration.value(Catalogue.mountPath) == HomeDirectory.current.appending("passdir"))
        #expect(try configuration.value(Catalogue.logLevel) == .info)
        #expect(try configuration.stores().isEmpty)
        #expect(access(folder.path.appending("passdir").string, F_OK) != 0)
    }

    @Test func valuesAreReadInTheirTypes() throws {
        let folder = Folder()
        try folder.write(
            """
            # The delay
            [Commit]
            \tDelay = 500ms
            [limits] secret = 2k
            [log]
            \tlevel = "debug" ; more
            [mount]
            \tpath = ~/else
            """)
        let configuration = try Configuration(file: folder.file)
        #expect(try configuration.value(Catalogue.commitDelay) == .milliseconds(500))
        #expect(try configuration.value(Catalogue.secretLimit) == 2048)
        #expect(try configuration.value(Catalogue.logLevel) == .debug)
        #expect(try configuration.value(Catalogue.mountPath) == HomeDirectory.current.appending("else"))
    }

    @Test func wrongValuesNameTheirLine() throws {
        let folder = Folder()
        try folder.write(
            "\n[commit]\n\n\tdelay = \"\\\n soon\"\n[store \"a\"]\n\tpath = relative\n\tid = 7\n")
        let configuration = try Configuration(file: folder.file)
        expectError(.value, line: 4) { _ = try configuration.value(Catalogue.commitDelay) }
        let section = try #require(try configuration.stores().first)
        expectError(.value, line: 7) { _ = try section.value(Catalogue.storePath) }
        expectError(.value, line: 8) { _ = try section.value(Catalogue.storeID) }
    }

    @Test func unknownNamesAndBrokenSyntaxNameTheirLine() throws {
        let folder = Folder()
        for (text, code, line) in [
            ("[commit]\n\tdelay = 1\n\tdelays = 2\n", SettingsError.Code.unknown, 3),
            ("[commit]\n[nonsense]\n", .unknown, 2), ("[store]\n\tpath = /x\n", .unknown, 2),
            ("[store \"a\"]\n\n\tpaht = /x\n", .unknown, 3),
            ("[include]\n\tpath = /etc/passwd\n", .unknown, 1),
            // libgit2 goes on in the next line here, git does not.
            ("[commit]\n\tdelay =\\  # why\n\n[mount] grace = 10s\n", .syntax, 4),
            ("[commit]\n\n\tdelay = \"1\n", .syntax, 3), ("[commit\n", .syntax, 1),
        ] {
            try folder.write(text)
            expectError(code, line: line) { _ = try Configuration(file: folder.file) }
        }
    }

    @Test func storesComeInTheOrderOfTheFile() throws {
        let folder = Folder()
        try folder.write(
            """
            [store "Work"]
                path = /w
            [store "b \\" c"]
                path = /b
                commitDelay = 7
            [store "a.b"]
            [store "work"]
                PATH = /lower
            [store "Work"]
                branch = main
            """)
        let configuration = try Configuration(file: folder.file)
        let stores = try configuration.stores()
        #expect(stores.map(\.name) == ["Work", "b \" c", "a.b", "work"])
        #expect(stores.map(\.line) == [1, 3, 6, 7])
        #expect(stores[0].values.map(\.key) == ["path", "branch"])
        #expect(stores[0].values.map(\.line) == [2, 10])
        #expect(try stores[3].value(Catalogue.storePath) == .some("/lower"))
        #expect(try stores[2].value(Catalogue.storePath) == nil)
        #expect(try configuration.value(Catalogue.commitDelay, store: "b \" c") == .seconds(7))
        #expect(try configuration.value(Catalogue.commitDelay, store: "work") == .seconds(1))
        #expect(try configuration.value(Catalogue.storeBranch, store: "Work") == "main")
        #expect(try configuration.value(Catalogue.storeBranch, store: "work") == nil)
    }

    @Test func editsKeepComments() throws {
        let folder = Folder()
        let start =
            "# top\n[commit]\n\t# why\n\tdelay = 5 # five\n\n# my work\n[store \"work\"]\n\tpath = /w ; here\n"
        try folder.write(start)
        let configuration = try Configuration(file: folder.file)
        try configuration.addStore(
            name: "home \"x\"", values: [("path", "/h#1; \\ \"q\""), ("branch", "main")])
        #expect(try folder.text.hasPrefix(start))
        let added = try #require(try configuration.stores().last)
        #expect(added.name == "home \"x\"")
        #expect(added.values.map(\.value) == ["/h#1; \\ \"q\"", "main"])
        #expect(try Configuration(file: folder.file).stores() == configuration.stores())
        try configuration.set("commit.delay", "1m")
        #expect(try configuration.value(Catalogue.commitDelay) == .seconds(60))
        #expect(try folder.text.contains("# why\n\tdelay = 1m"))
        try configuration.removeStore(name: "home \"x\"")
        try configuration.unset("commit.delay")
        try configuration.unset("commit.delay")
        #expect(try configuration.value(Catalogue.commitDelay) == .seconds(1))
        try configuration.removeStore(name: "work")
        #expect(try folder.text == "# top\n[commit]\n\t# why\n\n# my work\n")
    }

    @Test func removalKeepsTheNextSectionsComment() throws {
        let folder = Folder()
        try folder.write(
            "[store \"a\"]\n\tpath = /a\n# of a\n\n# of b\n; and more\n[store \"b\"]\n\tpath = /b\n[store \"a\"]\n"
        )
        let configuration = try Configuration(file: folder.file)
        try configuration.removeStore(name: "a")
        #expect(try folder.text == "# of b\n; and more\n[store \"b\"]\n\tpath = /b\n")
    }

    @Test func whatIsWrittenIsPrivateAndComplete() throws {
        let folder = Folder()
        let configuration = try Configuration(file: folder.file)
        try configuration.addStore(name: "work", values: [("path", "/w")])
        #expect(folder.mode(folder.file) == 0o600)
        #expect(folder.mode(folder.file.removingLastComponent()) == 0o700)
        chmod(folder.file.string, 0o640)
        try configuration.set(Catalogue.saveRetry, to: .milliseconds(1500))
        #expect(folder.mode(folder.file) == 0o640)
        #expect(try folder.text.contains("retry = 1500ms"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path.appending("passdir").string) == [
                "config"
            ])
    }

    @Test func aLinkedFileStaysLinked() throws {
        let folder = Folder()
        let real = folder.path.appending("dotfile")
        try folder.write("[commit]\n")
        rename(folder.file.string, real.string)
        symlink(real.string, folder.file.string)
        try Configuration(file: folder.file).set("commit.delay", "9")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file.string) == real.string)
        #expect(try folder.text == "[commit]\n\tdelay = 9\n")
    }

    @Test func refusals() throws {
        let folder = Folder()
        let configuration = try Configuration(file: folder.file)
        try configuration.addStore(name: "work", values: [("path", "/w")])
        let before = try folder.text
        expectError(.storeExists) { try configuration.addStore(name: "work", values: []) }
        expectError(.noStore) { try configuration.removeStore(name: "Work") }
        expectError(.noStore) { try configuration.setStore(name: "else", key: "path", value: "/x") }
        expectError(.name) { try configuration.addStore(name: "a\nb", values: [("path", "/w")]) }
        expectError(.unknown) { try configuration.addStore(name: "c", values: [("nothing", "/w")]) }
        expectError(.value) { try configuration.addStore(name: "c", values: [("path", "/c"), ("id", "x")]) }
        expectError(.unknown) { try configuration.set("path", "/x") }
        expectError(.value) { try configuration.set("log.level", "loud") }
        #expect(try folder.text == before)
        let lock = folder.file.string + ".lock"
        close(open(lock, O_CREAT | O_WRONLY, 0o600))
        expectError(.locked) { try configuration.set("log.level", "debug") }
        #expect(access(lock, F_OK) == 0)
    }

    @Test func anotherProcessesEditIsKept() throws {
        let folder = Folder()
        let one = try Configuration(file: folder.file)
        let two = try Configuration(file: folder.file)
        try one.addStore(name: "one", values: [("path", "/1")])
        try two.addStore(name: "two", values: [("path", "/2")])
        expectError(.storeExists) { try two.addStore(name: "one", values: [("path", "/3")]) }
        #expect(try two.stores().map(\.name) == ["one", "two"])
        try one.reload()
        #expect(try one.stores().map(\.name) == ["one", "two"])
    }
}
