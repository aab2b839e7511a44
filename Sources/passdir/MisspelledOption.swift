import ArgumentParser
import Stores

/// An option that its command does not have, of which the parser may not speak: it names what the command itself misses first,
/// and does not know of the options that every command takes.
enum MisspelledOption {
    /// One sentence without a full stop that names the first such option; nil where there is none.
    static func sentence(on arguments: [String]) -> String? {
        let (command, page) = NestedCommand.named(by: arguments)
        // What follows the first word there is for another program.
        guard command != GrepCommand.self, command != RunCommand.self else { return nil }
        let help = command.helpMessage(includeHidden: true)
        let words = help.split { !($0.isLetter || $0.isNumber || $0 == "-") }
        let known = Set(words.filter { $0.hasPrefix("--") }.map(String.init) + ["--help", "--quiet"])
        let before = arguments.prefix { $0 != "--" }
        // What follows an option that takes a value is that value, whatever it looks like.
        let typed = zip([""] + before, before).filter { option, word in
            word.hasPrefix("--") && !(option.hasPrefix("-") && help.contains("\(option) <"))
        }.map { String($1.prefix { $0 != "=" }) }
        guard let wrong = typed.first(where: { !known.contains($0) }) else { return nil }
        guard let meant = Spelling.nearest(to: wrong, among: known.sorted()) else {
            return "there is no option \"\(wrong)\": \(page) lists all"
        }
        return "there is no option \"\(wrong)\": did you mean \(meant)?"
    }
}
