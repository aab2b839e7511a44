import TestKit
import Testing

/// What the configuration says of new passwords, by folder.
@Suite struct GenerateRulesTests {
    /// Holds:
    /// - Options come first, then the rule of the longest place, then pass's variables, then the rule for all places.
    @Test func theNearestRuleCounts() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key])])
            func generated(_ words: String..., extra: [String: String] = [:]) throws -> String {
                let done = try home.run(["passdir", "generate", "--force"] + words, extra: extra)
                #expect(done.exitCode == 0, "\(words): \(done)")
                return String(done.output.dropLast())
            }
            let variables = [
                "PASSWORD_STORE_GENERATED_LENGTH": "40", "PASSWORD_STORE_CHARACTER_SET": "xyz",
            ]
            try home.configure([
                "generate.length": "30", "generate.work/bank.length": "12",
                "generate.work/bank.characters": "a-c0-9", "generate.work/bank/card.symbols": "false",
                "generate.work/disk.words": "5",
            ])
            #expect(try generated("work/mail").count == 30)
            let general = try generated("work/mail", extra: variables)
            #expect(general.count == 40 && general.allSatisfy { "xyz".contains($0) })
            let bank = try generated("work/bank/visa", extra: variables)
            #expect(bank.count == 12 && bank.allSatisfy { "abc0123456789".contains($0) }, "\(bank)")
            // Without a store's name, and for what is there already.
            #expect(try generated("bank/visa").count == 12)
            let place = try home.run(["passdir", "generate", "--in-place", "bank/visa"])
            #expect(place.output.count == 13, "\(place)")
            let typed = try generated("work/bank/visa", "60", "--no-symbols")
            #expect(typed.count == 60 && typed.contains { $0.isUppercase })
            let card = try generated("work/bank/card/pin", extra: variables)
            #expect(card.count == 40 && card.contains { $0.isUppercase }, "\(card)")
            #expect(try generated("work/disk").split(separator: "-").count >= 5)
            #expect(try generated("work/disk", "--words", "7").split(separator: "-").count >= 7)
            #expect(try generated("work/disk", "20").count == 20)
            #expect(try generated("work/disk", "--characters", "q").count == 30)
            try home.configure(["generate.work/bank.words": "3"])
            let wrong = try home.passdir("generate", "work/bank/new")
            #expect(wrong.exitCode == 1 && wrong.output.isEmpty, "\(wrong)")
            #expect(wrong.errors.contains("[generate \"work/bank\"]"), "\(wrong)")
        }
    }
}
