import ArgumentParser

/// A command that is named without the one it lies below, such as `reclone` for `store reclone`. The parser takes such a
/// name for an argument, and `help` answers with the page of the command above.
enum NestedCommand {
    private typealias Command = any ParsableCommand.Type

    /// The arguments that are meant.
    /// - Throws: One sentence where it is not known what is meant.
    static func resolved(_ arguments: [String]) throws(WrongUsage) -> [String] {
        guard let first = arguments.first else { return arguments }
        if first.hasPrefix("-") {
            // pass shows what is named without a command.
            let isOfPass = first == "-c" || first.hasPrefix("--clip")
            if isOfPass, let hint = PassWords.hint("-c", Array(arguments.dropFirst())) { throw hint }
            return arguments
        }
        if first == "help" { return ["help"] + (try page(Array(arguments.dropFirst()))) }
        guard let command = child(of: Passdir.self, first) ?? alias(first) else {
            throw unknown(first, Array(arguments.dropFirst()))
        }
        // A command that has only others below it; one that has a default may take the word for an argument of that.
        if let second = arguments.dropFirst().first, !second.hasPrefix("-"), second != "help",
            !command.configuration.subcommands.isEmpty, child(of: command, second) == nil,
            command.configuration.defaultSubcommand.map({ $0 is any CommandWithoutArguments.Type }) ?? true
        {
            throw WrongUsage(
                message: "there is no command \"\(first) \(second)\""
                    + suggestion(second, below: command, after: first + " "))
        }
        return arguments
    }

    /// What to say of a word that is no command.
    private static func unknown(_ first: String, _ rest: [String]) -> WrongUsage {
        if let hint = PassWords.hint(first, rest) { return hint }
        let paths = paths(to: first, below: Passdir.self)
        guard let path = paths.first else {
            return WrongUsage(
                message: "there is no command \"\(first)\"" + suggestion(first, below: Passdir.self))
        }
        return WrongUsage(
            message: paths.count > 1
                ? "there is no command \"\(first)\": did you mean \(Self.list(paths, after: "passdir"))?"
                : "there is no command \"\(first)\": did you mean passdir \(path)? See passdir help \(path)"
        )
    }

    /// The command that was probably meant, or where they are listed.
    private static func suggestion(_ name: String, below above: Command, after start: String = "") -> String {
        var near: (name: String, distance: Int)?
        for command in above.configuration.subcommands where command.configuration.shouldDisplay {
            let distance = Spelling.distance(command._commandName, name)
            if distance < near?.distance ?? .max { near = (command._commandName, distance) }
        }
        guard let near, near.distance <= max(1, name.count / 3) else {
            return ": passdir help" + (start.isEmpty ? "" : " ") + start.dropLast() + " lists all"
        }
        return ": did you mean passdir \(start)\(near.name)?"
    }

    /// The command of whose help the page is wanted, from the top.
    private static func page(_ words: [String]) throws(WrongUsage) -> [String] {
        let names = words.prefix { !$0.hasPrefix("-") }
        if names == ["help"] { return [] }
        var above: Command = Passdir.self
        for (index, name) in names.enumerated() {
            if let found = child(of: above, name) {
                above = found
                continue
            }
            let known = names.prefix(index).joined(separator: " ")
            guard known.isEmpty else {
                throw WrongUsage(
                    message:
                        "there is no command \"\(known) \(name)\": passdir help \(known) lists all"
                )
            }
            let paths = paths(to: name, below: Passdir.self)
            if paths.isEmpty, let command = alias(name) { return [command._commandName] + words.dropFirst() }
            guard let path = paths.first else {
                throw WrongUsage(message: "there is no command \"\(name)\": passdir help lists all")
            }
            guard paths.count == 1 else {
                throw WrongUsage(
                    message:
                        "\"\(name)\" is ambiguous; did you mean \(Self.list(paths, after: "passdir help"))?")
            }
            return path.split(separator: " ").map(String.init) + words.dropFirst()
        }
        return words
    }

    private static func child(of command: Command, _ name: String) -> Command? {
        command.configuration.subcommands.first { $0._commandName == name }
    }

    /// The command that has this name, too: as pass calls it.
    private static func alias(_ name: String) -> Command? {
        Passdir.configuration.subcommands.first { $0.configuration.aliases.contains(name) }
    }

    /// Where commands of this name lie below others, such as `store reclone`.
    private static func paths(to name: String, below above: Command) -> [String] {
        var found: [String] = []
        for command in above.configuration.subcommands where command.configuration.shouldDisplay {
            if command._commandName == name { found.append(name) }
            found += paths(to: name, below: command).map { "\(command._commandName) \($0)" }
        }
        return found.sorted()
    }

    private static func list(_ paths: [String], after start: String) -> String {
        paths.map { "\(start) \($0)" }.joined(separator: ", ")
    }
}

/// A command that takes options only.
protocol CommandWithoutArguments {}

/// Words that no command can be: exit status 64.
struct WrongUsage: Error {
    /// One sentence without a full stop.
    let message: String
}
