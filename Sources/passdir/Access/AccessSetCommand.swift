import Access
import ArgumentParser
import Daemon
import Settings
import Stores
import System
import SystemPackage

/// `passdir access set`: adds a rule, or replaces the one for the same readers.
struct AccessSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set who may read a store, a folder or a secret.",
        discussion: """
            A rule for the same readers is replaced. A new deny rule goes before the others of its place, a rule for every \
            program after them, any other in between; edit the configuration file to change the order. Rules take effect \
            at once, for files opened from then on.

            With --ask, you are asked through pinentry, in the reader's terminal or on your desktop; the answer holds for that \
            program and everything in PLACE: once, or until lock.

            Examples:
              passdir access set work/aws --ask
              passdir access set work/aws --allow /usr/bin/aws --when terminal
              passdir access set work/aws --deny-under claude,codex,cursor
              passdir access set private --ask --every-time
            """
    )

    @Argument(
        help: "STORE, STORE/FOLDER or STORE/SECRET, or a path in the mount.",
        completion: PlaceCompletion.places)
    var place: String

    @OptionGroup var readers: RuleReaders

    @Flag(help: "These readers may read.")
    var allow = false

    @Flag(help: "You are asked before these readers may read.")
    var ask = false

    @Flag(help: "These readers may not read.")
    var deny = false

    @Option(help: ArgumentHelp("Short for --deny --under.", valueName: "a,b"))
    var denyUnder: String?

    @Flag(help: "With --ask: your agreement holds for one run of the program.")
    var everyTime = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("With --ask: how long your agreement holds.", valueName: "time"))
    var lasting: String?

    func validate() throws {
        let outcomes = [allow, ask, deny, denyUnder != nil].count(where: \.self)
        guard outcomes > 0 else {
            throw ValidationError("one of --allow, --ask, --deny or --deny-under is required")
        }
        guard outcomes == 1 else {
            throw ValidationError("--allow, --ask, --deny and --deny-under cannot be used together")
        }
        guard ask || !everyTime && lasting == nil else {
            throw ValidationError("--every-time and --for require --ask")
        }
        guard !everyTime || lasting == nil else {
            throw ValidationError("--every-time and --for cannot be used together")
        }
        guard denyUnder == nil || readers.under == nil else {
            throw ValidationError("--deny-under and --under cannot be used together")
        }
    }

    func run() throws {
        let context = try StoreContext()
        let place = try AccessPlace.named(self.place, environment: CallerEnvironment.variables())
        var readers = readers
        if let denyUnder { readers.under = denyUnder }
        let rules = try readers.rules(try outcome())
        for rule in rules {
            if let program = rule.program { try ProgramArgument.checkIsNoScript(program, rule) }
            guard rule.outcome == .allow else { continue }
            for name in rule.under { try ProgramArgument.checkCanBeAllowed(under: name) }
        }
        let finding = AccessPlace.findings(environment: CallerEnvironment.variables())(place)
        if finding == .link {
            throw CommandFailure("\(place) is a symbolic link: set the rule for what it leads to")
        }
        // Until it is mended, none that is new would be in force.
        do { _ = try AccessRules(context.registry.configuration.accessSections) } catch {
            throw CommandFailure(
                "\(error): mend or remove that rule first ('passdir access unset' removes the rules of a place)"
            )
        }
        try context.registry.configuration.changeAccess(of: place) { items throws(SettingsError) in
            var items = items
            for rule in rules { items = try AccessRules.adding(rule, to: items, at: place) }
            return items
        }
        context.daemon.reload()
        for rule in rules { Output.success("\(place): \(rule.text)") }
        for path in rules.compactMap(\.program) {
            if let absence = ProgramArgument.absence(of: path) { StandardError.warn(absence) }
            if ProgramArgument.file(path) == OwnProgram.path {
                StandardError.warn(
                    "a command of passdir is judged as what started it, unless that has ended: "
                        + "this rule applies to few reads")
            }
        }
        warnOfOverruled(rules, at: place, context.registry.configuration.accessSections)
        if finding == .nothing {
            StandardError.warn("\(place) does not exist yet; the rule applies once it does")
        }
    }

    /// What a shorter place denies is allowed by a rule of a longer one that fits, as that is tried first.
    private func warnOfOverruled(_ rules: [AccessRule], at place: String, _ sections: [AccessSection]) {
        guard rules.contains(where: { $0.outcome == .allow }), let all = try? AccessRules(sections) else {
            return
        }
        let own = all.rules(of: place).filter { $0.outcome == .deny }
        for above in all.places where place.hasPrefix(above + "/") {
            for rule in all.rules(of: above)
            where rule.outcome == .deny && !own.contains(where: { $0.isForSameReaders(as: rule) }) {
                StandardError.warn(
                    "this rule is tried before '\(rule.text)' of \(above), and allows also what that denies: "
                        + "repeat that rule for \(place) unless you want this")
            }
        }
    }

    private func outcome() throws -> AccessRule.Outcome {
        if allow { return .allow }
        guard ask else { return .deny }
        if everyTime { return .ask(.everyTime) }
        guard let lasting else { return .ask(.untilLock) }
        guard let time = SettingKind<Duration>.duration.parseText(lasting), time > .zero else {
            throw WrongUsage(message: "--for needs a time, such as 10m, not \(lasting)")
        }
        return .ask(.lasting(time))
    }
}

/// `passdir access unset`: takes rules away.
struct AccessUnsetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Remove the rules of a place, or the one for some readers.",
        discussion: """
            Without a program or an option, all rules of PLACE are removed; the rules of the folders above it and of anything \
            in it stay.

            Examples:
              passdir access unset work/aws
              passdir access unset work/aws /usr/bin/aws --when terminal
            """, aliases: OtherNames.of("unset", like: "remove"))

    @Argument(
        help: "STORE, STORE/FOLDER or STORE/SECRET, or a path in the mount.",
        completion: PlaceCompletion.places)
    var place: String

    @OptionGroup var readers: RuleReaders

    @Option(help: ArgumentHelp("The same as --under, as the rule was set.", valueName: "a,b"))
    var denyUnder: String?

    func validate() throws {
        guard denyUnder == nil || readers.under == nil else {
            throw ValidationError("--deny-under and --under cannot be used together")
        }
    }

    func run() throws {
        let context = try StoreContext()
        let place = try AccessPlace.named(self.place, environment: CallerEnvironment.variables())
        var readers = readers
        if let denyUnder { readers.under = denyUnder }
        let rules = try readers.rules(.deny)
        var removed = 0
        try context.registry.configuration.changeAccess(of: place) { items throws(SettingsError) in
            var kept = items
            for rule in rules { kept = try AccessRules.removing(readersOf: rule, from: kept, at: place) }
            removed = items.count - kept.count
            return kept
        }
        guard removed > 0 else {
            let sections = context.registry.configuration.accessSections
            let rules =
                sections.first { $0.place == place }?.rules.map { rule in
                    rule.value.isEmpty ? rule.key : "\(rule.key) \(rule.value)"
                } ?? []
            throw CommandFailure(
                rules.isEmpty
                    ? "\(place) has no rules of its own"
                    : "\(place) has no rule for these readers; its rules are: \(rules.joined(separator: ", "))"
            )
        }
        context.daemon.reload()
        Output.success("\(place): \(removed == 1 ? "1 rule" : "\(removed) rules") removed")
    }
}
