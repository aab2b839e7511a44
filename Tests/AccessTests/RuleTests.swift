import Settings
import SystemPackage
import TestKit
import Testing

@testable import Access

/// What rules say, without a mount.
@Suite struct RuleTests {
    private func section(_ place: String, _ rules: [String]) -> AccessSection {
        AccessSection(
            place: place, file: "config", line: 1,
            rules: rules.enumerated().map { number, rule in
                let words = rule.split(separator: " ", maxSplits: 1).map(String.init)
                return AccessSection.Item(
                    key: words[0], value: words.count > 1 ? words[1] : "", line: number + 2)
            })
    }

    private func reader(
        _ path: String? = "/bin/sh", below names: [String] = [], said: [String] = [], units: [String] = [],
        hasTerminal: Bool = true, isAtItsPath: Bool = true
    ) -> Reader {
        Reader(
            program: path.map { Program(path: $0, fingerprint: "", isAtItsPath: isAtItsPath) },
            saidNames: said,
            ancestors: names.map { .init(process: 2, program: Program(path: "/opt/\($0)", fingerprint: "")) },
            units: units, hasTerminal: hasTerminal)
    }

    /// A slash with a combining mark behind it is one character to Swift, and two to the file system.
    @Test func aNameThatBeginsWithACombiningMarkLiesInItsFolder() throws {
        let rules = try AccessRules([section("work/mail", ["deny"]), section("work", ["ask"])])
        #expect(rules.governing("work/mail/\u{301}imap") == "work/mail")
        #expect(rules.governing("work/\u{301}imap") == "work")
        #expect(rules.decide(reader(), at: "work/mail/\u{301}a/b").outcome == .deny)
        let below = try AccessRules([section("work/\u{301}a", ["deny"])])
        #expect(below.places(below: "work") == ["work/\u{301}a"])
        // The same name, as macOS writes it.
        let composed = try AccessRules([section("work/\u{E9}/sub", ["deny"])])
        #expect(composed.governing("work/e\u{301}/sub/x") != nil)
        #expect(composed.places(below: "work/e\u{301}") == ["work/\u{E9}/sub"])
        #expect(composed.places(below: "work/\u{E9}/sub").isEmpty)
    }

    /// Each rule, a reader, and whether it is for that reader.
    @Test func aRuleIsForThoseThatItNames() throws {
        let table: [(rule: String, reader: Reader, isFor: Bool)] = [
            ("allow", .unknown, true), ("deny", .unknown, true), ("ask", reader(), true),
            ("allow /bin/sh", reader(), true), ("allow /bin/cat", reader(), false),
            ("deny /bin/cat", reader(), false),
            // In doubt nobody is let in.
            ("allow /bin/sh", .unknown, false), ("deny /bin/sh", .unknown, true),
            ("ask /bin/sh", .unknown, true),
            ("allow /bin/sh", reader(nil), false), ("deny /bin/sh", reader(nil), true),
            ("allow /bin/sh", reader(isAtItsPath: false), false),
            ("deny /bin/sh", reader(isAtItsPath: false), true),
            ("deny under claude", reader(below: ["sh", "claude", "bash"]), true),
            ("deny under claude,codex", reader(below: ["codex"]), true),
            ("deny under claude", reader("/opt/claude"), true),
            ("deny under claude", reader(below: ["claudette"]), false),
            ("deny under /opt/claude", reader(below: ["claude"]), true),
            ("deny under /usr/bin/claude", reader(below: ["claude"]), true == false),
            // What a process says of itself counts against it only.
            ("deny under claude", reader("/usr/bin/node", said: ["claude"]), true),
            ("allow under claude", reader("/usr/bin/node", said: ["claude"]), false),
            ("allow under claude", reader(below: ["claude"]), true),
            ("deny under firefox", reader(units: ["user@1000.service", "app-gnome-firefox-12.scope"]), true),
            ("deny under fire", reader(units: ["app-gnome-firefox-12.scope"]), false),
            ("allow under firefox", reader(units: ["app-firefox-12.scope"]), false),
            ("allow unit app-firefox-*.scope", reader(units: ["app-firefox-12.scope"]), true),
            ("allow unit backup.service", reader(units: ["app-firefox-12.scope"]), false),
            ("allow unit backup.service", .unknown, false), ("deny unit backup.service", .unknown, true),
            ("allow when terminal", reader(), true), ("allow when none", reader(), false),
            ("deny when none", reader(hasTerminal: false), true),
            ("allow /bin/sh when terminal", reader(hasTerminal: false), false),
        ]
        for entry in table {
            let words = entry.rule.split(separator: " ", maxSplits: 1).map(String.init)
            let rule = try AccessRule(key: words[0], text: words.count > 1 ? words[1] : "")
            #expect(rule.matches(entry.reader) == entry.isFor, "\(entry)")
            #expect(try AccessRule(key: rule.key, text: rule.words) == rule, "\(entry.rule)")
        }
    }

    @Test func theLongestPlaceDecidesAndInItTheFirstRule() throws {
        let rules = try AccessRules([
            section("work", ["deny under claude", "allow /bin/sh"]),
            section("work/aws", ["allow when none", "ask"]),
            section("work/aws/root", ["ask /bin/cat every-time"]),
        ])
        func outcome(_ place: String, _ reader: Reader) -> String {
            let decision = rules.decide(reader, at: place)
            return decision.rule?.text ?? "\(decision.outcome)"
        }
        #expect(outcome("home/key", reader(below: ["claude"])) == "allow")
        #expect(outcome("work/key", reader(below: ["claude"])) == "work: deny under claude")
        #expect(outcome("work/key", reader()) == "work: allow /bin/sh")
        #expect(outcome("work/key", reader("/bin/cat")) == "allow")
        #expect(outcome("workshop/key", reader(below: ["claude"])) == "allow")
        #expect(outcome("work/aws/key", reader(below: ["claude"])) == "work/aws: ask")
        #expect(outcome("work/aws/key", reader(hasTerminal: false)) == "work/aws: allow when none")
        #expect(outcome("work/aws/root", reader("/bin/cat")) == "work/aws/root: ask /bin/cat every-time")
        #expect(outcome("work/aws/root", reader()) == "work/aws: ask")
        #expect(rules.inOrder.first?.place == "work/aws/root")
    }

    /// Words that make no rule are an error with their line, and no rule at all.
    @Test func brokenRulesAreErrors() {
        let broken = [
            "allow aws", "allow under", "deny when never", "allow for 10m", "ask for", "ask for soon",
            "ask for 10m every-time", "allow /a /b", "ask 'open", "deny when none when none", "deny unit ''",
            "deny under ''", "deny ''",
        ]
        for rule in broken {
            let sentence = #expect(throws: SettingsError.self, "\(rule)") {
                try AccessRules([section("work", [rule])])
            }
            #expect(
                sentence?.line == 2 && sentence?.message.contains(rule) == true,
                "\(rule): \(String(describing: sentence))")
        }
        for place in ["/work", "work/", "work//a", "work/../home", ""] {
            #expect(throws: SettingsError.self) { try AccessRules([section(place, ["deny"])]) }
        }
    }

    /// What a rule names is read back from the file as it was, whatever characters it has.
    @Test func aRuleIsReadBackAsItWasWritten() throws {
        try TestHome.with { home in
            let configuration = try Configuration(file: home.path("rules"))
            let names = [
                "it's", "'", "''", "'a'", " a b ", "a\tb", "\u{301}a", "a \u{301}b", "'\u{301}", "a\\x2db",
                "a\"b",
                "a#b;c", "a\n", "a\r", "\r\n", "\u{C5}", "every-time",
            ]
            let rules =
                names.map { AccessRule(.deny, program: "/\($0)") }
                + names.map { AccessRule(.deny, under: [$0, "b", $0 + "c"]) }
                + names.map { AccessRule(.ask(.everyTime), under: ["x"], unit: $0, hasTerminal: true) }
            for rule in rules {
                try configuration.changeAccess(of: "work") { _ throws(SettingsError) in
                    try AccessRules.adding(rule, to: [], at: "work")
                }
                let sections = try Configuration(file: home.path("rules")).accessSections
                let read = try AccessRules(sections).rules(of: "work")
                #expect(read == [rule], "\(rule)")
                #expect(read.first?.item == rule.item, "\(rule)")
            }
            // What no text says is not written.
            for rule in [
                AccessRule(.deny, program: "name"), AccessRule(.deny, under: ["a,b"]),
                AccessRule(.deny, under: [""]), AccessRule(.deny, unit: ""),
            ] {
                #expect(throws: SettingsError.self) { try AccessRules.adding(rule, to: [], at: "work") }
            }
        }
    }

    @Test func aNewRuleFindsItsPlace() throws {
        var items: [AccessSection.Item] = []
        for (rule, all) in [
            (AccessRule(.ask(.untilLock)), "ask"),
            (AccessRule(.allow, program: "/usr/bin/aws"), "allow /usr/bin/aws, ask"),
            (AccessRule(.deny, under: ["claude"]), "deny under claude, allow /usr/bin/aws, ask"),
            (AccessRule(.ask(.everyTime)), "deny under claude, allow /usr/bin/aws, ask every-time"),
            (
                AccessRule(.deny, program: "/usr/bin/aws"),
                "deny under claude, deny /usr/bin/aws, ask every-time"
            ),
        ] {
            items = try AccessRules.adding(rule, to: items, at: "work")
            let text = items.map { $0.value.isEmpty ? $0.key : "\($0.key) \($0.value)" }.joined(
                separator: ", ")
            #expect(text == all)
        }
        let fewer = try AccessRules.removing(
            readersOf: AccessRule(.deny, program: "/usr/bin/aws"), from: items, at: "work")
        #expect(fewer.count == 2)
        #expect(try AccessRules.removing(readersOf: AccessRule(.deny), from: items, at: "work").isEmpty)
    }

    @Test func unitsAreReadFromControlGroups() {
        let text =
            "1:name=systemd:/old.service\n0::/user.slice/user-1.slice/user@1.service/app.slice/app-x-2.scope\n"
        #expect(Reader.units(Array(text.utf8)) == ["user@1.service", "app-x-2.scope"])
        #expect(Reader.units(Array("0::/\n".utf8)).isEmpty)
    }

    /// Names in a question steer no terminal and are no lines of the protocol.
    @Test func namesInAQuestionAreOnlyShown() {
        let evil = "/tmp/a\nOK\u{1B}[2J%0Ab"
        let reader = Reader(program: Program(path: evil, fingerprint: ""), folder: evil, words: [evil, evil])
        let placed = PlacedRule(place: "work", rule: AccessRule(.ask(.untilLock)))
        let text = QuestionText("work/\(evil)", reader, .rule(placed), hasChanged: true)
        #expect(
            text.lines.allSatisfy { line in line.utf8.allSatisfy { $0 >= 0x20 } && line.utf8.count < 1000 })
        #expect(
            text.lines[1].contains("%25%0A") == false && text.lines[1].contains("%250Ab"), "\(text.lines)")
        #expect(text.lines.contains("SETNOTOK Allow once"))
    }

    /// A long way to a program or a folder hides neither its beginning nor its own name, and no name the question.
    @Test(arguments: ["long", "%", "é", "\u{1B}", "e\u{301}\u{301}\u{301}", "\u{1F600}"])
    func longNamesInAQuestionHideNothing(_ piece: String) throws {
        let way = "/home/" + String(repeating: piece, count: 300)
        let reader = Reader(
            program: Program(path: way + "/evil", fingerprint: ""), folder: way + "/there",
            words: ["cat", way + "/script"])
        let placed = PlacedRule(place: "work", rule: AccessRule(.ask(.untilLock)))
        for topic in [QuestionTopic.rule(placed), .change(placed), .unlock(store: "work")] {
            let text = QuestionText("work/\(way)/key", reader, topic, hasChanged: false).lines[1]
            #expect(text.hasPrefix("SETDESC \"/home/") && text.contains("/evil\" wants to"), "\(text)")
            #expect(text.utf8.count < 1000 && text.contains("…"), "\(text)")
            #expect(text.contains("/script%0A") && text.contains("/there%0A"), "\(text)")
            if case .rule = topic { #expect(text.contains("/key\""), "\(text)") }
        }
    }
}
