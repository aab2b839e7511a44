import Glibc
import SystemPackage
import Testing

@testable import Settings

@Suite struct CatalogueTests {
    /// The README's table has every setting, and each default in it is what holds, typed as it stands there.
    @Test func theReadmeHasEverySetting() throws {
        let top = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let file = try FileDescriptor.open(top.appending("README.md"), .readOnly)
        defer { try? file.close() }
        let bytes = try [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        var told: [String: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            guard let row = line.wholeMatch(of: /\| `([a-z]+\.[a-z]+)` \| .* \| (.*) \|/) else { continue }
            told[String(row.1)] = String(row.2)
        }
        let settings = Catalogue.all.filter { $0.place == .configuration }
        #expect(Set(told.keys) == Set(settings.map(\.name)))
        for setting in settings {
            let text = told[setting.name] ?? ""
            guard text.hasPrefix("`") else {
                #expect(text.hasPrefix("none") && setting.defaultText.isEmpty, "\(setting.name)")
                continue
            }
            let typed = String(text.dropFirst().prefix { $0 != "`" })
            #expect(setting.formatted(typed) == setting.defaultText, "\(setting.name)")
        }
    }

    @Test func everySettingIsDeclaredOnce() {
        #expect(Catalogue.repeated(in: Catalogue.all) == [])
        let twice = Setting<Duration>(
            "Commit.Delay", default: .zero, description: "", owner: .sync, kind: .duration)
        #expect(Catalogue.repeated(in: Catalogue.all + [twice.untyped]) == ["commit.delay"])
        let key = Setting<Duration>(
            "other.delay", default: .zero, description: "", owner: .sync, kind: .duration, storeKey: "PATH")
        #expect(Catalogue.repeated(in: Catalogue.all + [key.untyped]) == ["store.*.path"])
    }

    @Test func everySettingIsComplete() {
        for setting in Catalogue.all {
            #expect(setting.accepts(setting.defaultText), "\(setting.name)")
            #expect(!setting.description.isEmpty && !setting.allowed.isEmpty, "\(setting.name)")
            // git-config(1): a key is letters, digits and "-", and begins with a letter.
            for part in setting.name.split(separator: ".", omittingEmptySubsequences: false) {
                #expect(part.wholeMatch(of: /[A-Za-z][A-Za-z0-9-]*/) != nil, "\(setting.name)")
            }
        }
        #expect(Catalogue.setting(named: "COMMIT.delay")?.name == "commit.delay")
        #expect(Catalogue.setting(named: "path") == nil)
        #expect(Catalogue.storeSetting(key: "commitdelay")?.name == "commit.delay")
    }

    @Test(
        arguments: [
            ("2", 2000), ("2s", 2000), ("500ms", 500), ("0.5", 500), ("1.5m", 90_000), ("1h", 3_600_000),
            ("0", 0),
            ("-1", nil), ("", nil), ("s", nil), ("inf", nil), ("nan", nil), ("0x10", nil), ("1e3", nil),
            ("2 s", 2000), ("5 min", 300_000), ("5min", 300_000), ("2  s", nil), (" ", nil),
            ("5 minutes", nil),
            ("1.2.3", nil), ("99999999h", nil), (".", nil),
        ] as [(String, Int64?)])
    func durations(_ text: String, _ milliseconds: Int64?) {
        let value = SettingKind<Duration>.duration.parse(text)
        #expect(value == milliseconds.map { .milliseconds($0) })
        if let value {
            #expect(
                SettingKind<Duration>.duration.parse(SettingKind<Duration>.duration.format(value)) == value)
        }
    }

    @Test(arguments: [
        ("300", "5min"), ("90", "90s"), ("1s", "1s"), ("500ms", "500ms"), ("1500ms", "1500ms"), ("2h", "2h"),
        ("90m", "90min"), ("60000ms", "1min"), ("0", "0s"),
    ])
    func durationsAreWrittenInTheUnitThatPeopleWrite(_ text: String, _ written: String) {
        #expect(
            SettingKind<Duration>.duration.parse(text).map(SettingKind<Duration>.duration.format) == written)
    }

    @Test(
        arguments: [
            ("1", 1), ("64m", 64 << 20), ("64M", 64 << 20), ("64 MiB", 64 << 20), ("1GiB", 1 << 30),
            ("2 k", 2048), ("1g", 1 << 30), ("1iB", nil),
            ("1 ", nil), ("3k", 3072), ("0", nil),
            ("-1", nil),
            ("k", nil), ("", nil), ("1.5m", nil), ("1t", nil), ("99999999999999999999g", nil),
        ] as [(String, Int?)])
    func sizes(_ text: String, _ bytes: Int?) {
        let value = SettingKind<Int>.bytes.parse(text)
        #expect(value == bytes)
        if let value { #expect(SettingKind<Int>.bytes.parse(SettingKind<Int>.bytes.format(value)) == value) }
    }

    @Test func otherKinds() {
        #expect(SettingKind<FilePath>.path.parse("~/a/b") == HomeDirectory.current.pushing("a/b"))
        #expect(SettingKind<FilePath>.path.parse("/x") == "/x")
        #expect(SettingKind<FilePath>.path.parse("~other/x") == nil)
        #expect(SettingKind<FilePath>.path.parse("x") == nil)
        let id = "0B1E29F4-2f4f-4f0e-9a55-6a4f2d1f3c7b"
        #expect(SettingKind<String>.uuid.parse(id) == id.lowercased())
        #expect(SettingKind<String>.uuid.parse(String(id.dropLast())) == nil)
        #expect(SettingKind<LogLevel>.word.parse("warning") == .warning)
        #expect(SettingKind<LogLevel>.word.parse("Warning") == nil)
    }

    @Test func directories() throws {
        let environment = [
            "HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative", "XDG_RUNTIME_DIR": "/r",
            "XDG_CACHE_HOME": "",
        ]
        let all = Directories(environment: environment)
        #expect(all.config == "/c/passdir")
        #expect(all.state == "/h/.local/state/passdir")
        #expect(all.data == "/h/.local/share/passdir")
        #expect(all.cache == "/h/.cache/passdir")
        #expect(all.runtime == "/r/passdir")
        #expect(Configuration.defaultPath(environment: ["HOME": "/h"]) == "/h/.config/passdir/config")
        #expect(Directories(environment: [:]).config == HomeDirectory.current.pushing(".config/passdir"))
    }

    @Test func privateFolders() throws {
        let folder = Folder()
        let place = folder.path.appending("run")
        try Directories.makePrivate(place)
        try Directories.makePrivate(place)
        #expect(folder.mode(place) == 0o700)
        chmod(place.string, 0o755)
        expectError(.unsafeFolder) { try Directories.makePrivate(place) }
        chmod(place.string, 0o700)
        symlink(place.string, folder.path.appending("link").string)
        expectError(.unsafeFolder) { try Directories.makePrivate(folder.path.appending("link")) }
        expectError(.access) { try Directories.makePrivate(folder.path.pushing("no/such")) }
        if getuid() == 0 {
            chown(place.string, 65534, 65534)
            expectError(.unsafeFolder) { try Directories.makePrivate(place) }
        }
    }
}
