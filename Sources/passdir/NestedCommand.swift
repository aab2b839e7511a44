import ArgumentParser
import Stores

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
        guard let command = child(of: Passdir.self, first) else {
            throw unknown(first, Array(arguments.dropFirst()))
        }
        // A command that has only others below it; one that has a default may take the word for an argument of that.
        if let second = arguments.dropFirst().first, !second.hasPrefix("-"), second != "help",
            !command.configuration.subcommands.isEmpty, child(of: command, second) == nil,
            command.configuration.defaultSubcommand.map({ $0 is any CommandWithoutArguments.Type }) ?? true
        {
            throw WrongUsage(
                message: "there is no command \"\(first) \(second)\""
                    + suggestion(second, below: command, after: command._commandName + " "))
        }
        // One whose default takes an argument: a word that is none of that is rather a name.
        if let second = arguments.dropFirst().first, !second.hasPrefix("-"), second != "help",
            command.configuration.defaultSubcommand != nil, child(of: command, second) == nil,
            let near = near(second, below: command), !PassWords.isThere(second)
        {
            throw WrongUsage(
                message: "there is no command \"\(first) \(second)\": did you mean passdir \(first) \(near)?")
        }
        return arguments
    }

    /// The command that arguments name, as far as they name one, and how its page of help is called.
    static func named(by arguments: [String]) -> (command: any ParsableCommand.Type, page: String) {
        var command: Command = Passdir.self
        var page = "passdir help"
        for word in arguments {
            guard let below = child(of: command, word) else { break }
            command = below
            page += " " + below._commandName
        }
        return (command.configuration.defaultSubcommand ?? command, page)
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
        if let near = near(name, below: above) { return ": did you mean passdir \(start)\(near)?" }
        let commands = above.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        let akin = OtherNames.akin(to: name, among: commands.map { $0._commandName })
        if !akin.isEmpty {
            return ": did you mean " + akin.map { "passdir \(start)\($0)" }.joined(separator: " or ") + "?"
        }
        // What is to be looked at was named, and not that it is.
        if !start.isEmpty, let show = commands.first(where: { $0._commandName == "show" }),
            !(show is any CommandWithoutArguments.Type), PassWords.isThere(name)
        {
            return ": did you mean passdir \(start)show \(ShellWord.quoted(name))?"
        }
        return ": passdir help" + (start.isEmpty ? "" : " ") + start.dropLast() + " lists all"
    }

    /// The command below another one whose name a word is a misspelling of.
    private static func near(_ name: String, below above: Command) -> String? {
        let commands = above.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        let known = commands.flatMap { [$0._commandName] + $0.configuration.aliases }
        return Spelling.nearest(to: name, among: known).flatMap { child(of: above, $0)?._commandName }
    }

    /// The command of whose help the page is wanted, from the top.
    private static func page(_ words: [String]) throws(WrongUsage) -> [String] {
        let names = words.prefix { !$0.hasPrefix("-") }
        if names == ["help"] { return [] }
        var above: Command = Passdir.self
        var known: [String] = []
        for name in names {
            let paths = known.isEmpty ? paths(to: name, below: Passdir.self) : []
            // A name of a command below another one comes before what else one at the top is called.
            if let found = child(of: above, name), paths.isEmpty || found._commandName == name {
                above = found
                known.append(found._commandName)
                continue
            }
            guard let path = paths.first else {
                let start = known.map { $0 + " " }.joined()
                throw WrongUsage(
                    message: "there is no command \"\(start)\(name)\""
                        + suggestion(name, below: above, after: start))
            }
            guard paths.count == 1 else {
                throw WrongUsage(
                    message:
                        "\"\(name)\" is ambiguous; did you mean \(Self.list(paths, after: "passdir help"))?")
            }
            return path.split(separator: " ").map(String.init) + words.dropFirst()
        }
        return known + words.dropFirst(known.count)
    }

    /// The command of this name below another one, or the one that is called so, too.
    private static func child(of command: Command, _ name: String) -> Command? {
        let commands = command.configuration.subcommands
        return commands.first { $0._commandName == name }
            ?? commands.first { $0.configuration.aliases.contains(name) }
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
