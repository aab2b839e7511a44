import Settings
import Testing

/// Settings that a section of a place may have.
@Suite struct PlacedSectionsTests {
    private func configuration(_ text: String) throws -> Configuration {
        let folder = Folder()
        try folder.write(text)
        return try Configuration(file: folder.file)
    }

    @Test func theLongestPlaceAloneCounts() throws {
        let rules = try configuration(
            """
            [generate]
            \tlength = 30
            [generate "work"]
            \tsymbols = false
            \tlength = 20
            [Generate "work/bank"]
            \tCharacters = a-z
            [generate "work/bank"]
            \tlength = 12
            [generate "work/off"]
            \tsymbols
            """
        ).placed("generate")
        for (secret, place) in [
            ("work/mail", "work"), ("work/bank/visa", "work/bank"), ("work/bank", "work/bank"),
            ("work/banks", "work"), ("private/bank", nil), ("works/x", nil), ("work/bank/a/b", "work/bank"),
        ] { #expect(rules.governing(secret)?.place == place, "\(secret)") }
        let bank = try #require(rules.governing("work/bank/visa"))
        #expect(try bank.value(Catalogue.generateLength) == 12)
        #expect(try bank.value(Catalogue.generateCharacters) == "a-z")
        #expect(try bank.value(Catalogue.generateSymbols) == nil)
        #expect(try rules.general?.value(Catalogue.generateLength) == 30)
        #expect(try rules.governing("work/off")?.value(Catalogue.generateSymbols) == true)
        #expect(try configuration("").placed("health").general == nil)
    }

    @Test(arguments: [
        ("[generate \"work\"]\n\tlenght = 3\n", "generate.length"),
        ("[commit \"work\"]\n\tdelay = 3s\n", "commit.delay"),
        ("[health \"work\"]\n\tnotify = false\n", "health.rotate"),
    ])
    func otherKeysAreUnknown(_ text: String, _ said: String) throws {
        let folder = Folder()
        try folder.write(text)
        do {
            _ = try Configuration(file: folder.file)
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .unknown && error.message.contains(said), "\(error)")
        }
    }

    @Test(arguments: [
        "[generate \"work\"]\n\tlength = 0\n", "[generate]\n\tlength = 5000\n",
        "[generate \"work\"]\n\twords = -1\n", "[health \"work\"]\n\trotate = often\n",
    ])
    func otherValuesAreRefused(_ text: String) throws {
        expectError(.value, line: 2) { try configuration(text).validate() }
    }

    @Test(arguments: ["work/", "/work", "work//bank", "work/../x", ""])
    func otherPlacesAreRefused(_ place: String) throws {
        expectError(.value, line: 2) {
            _ = try configuration("[generate \"\(place)\"]\n\tlength = 9\n").placed("generate")
        }
    }

    @Test func aRenamedStoreKeepsItsRules() throws {
        let folder = Folder()
        try folder.write(
            "[store \"a\"]\n\tpath = /a\n[health \"a\"]\n\trotate = 1y\n[generate \"a/b\"]\n\tlength = 9\n"
                + "[generate \"ab\"]\n\tlength = 10\n")
        let configuration = try Configuration(file: folder.file)
        try configuration.renameStore(name: "a", to: "c")
        #expect(try configuration.placed("health").governing("c/x")?.place == "c")
        #expect(try configuration.placed("generate").governing("c/b/x")?.place == "c/b")
        #expect(try configuration.placed("generate").governing("ab")?.place == "ab")
        #expect(try configuration.placed("health").governing("a/x") == nil)
    }
}
