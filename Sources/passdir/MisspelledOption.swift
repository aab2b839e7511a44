import ArgumentParser
import Stores

/// An option that its command does not have, of which the parser may not speak: it names what the command itself misses first,
/// and does not know of the options that every command takes.
enum MisspelledOption {
    /// One sentence without a full stop that names the first such option; nil where there is none.
    static func sentence(on arguments: [String]) -> String? {
        let (command, page) = NestedCommand.named(by: arguments)
        // What follows is grep's.
        guard command != GrepCommand.self else { return nil }
        let help = command.helpMessage(includeHidden: true)
        let words = help.split { !($0.isLetter || $0.isNumber || $0 == "-") }
        let known = Set(words.filter { $0.hasPrefix("--") }.map(String.init) + ["--help", "--quiet"])
        let named = arguments.prefix { $0 != "--" }
        // Where "--" is left out, the first word that is no option begins what is for another program.
        let before = command == RunCommand.self ? named.prefix(1) + ofRun(named.dropFirst()) : named
        // What follows an option that takes a value is that value, whatever it looks like.
        let typed = zip([""] + before, before).filter { option, word in
            word.hasPrefix("-") && !takesValue(option, in: help)
        }.map { String($1.prefix { $0 != "=" }) }
        let wrong = typed.first { word in
            if word.hasPrefix("--") { return !known.contains(word) }
            // Of those in one word, the parser names the one that is none.
            return word.count == 2 && word != "-q" && word != "-h" && !words.contains(word[...])
        }
        guard let wrong else { return nil }
        guard let meant = Spelling.nearest(to: wrong, among: known.sorted()) else {
            return "there is no option \"\(wrong)\": \(page) lists all"
        }
        return "there is no option \"\(wrong)\": did you mean \(meant)?"
    }

    /// The arguments, with a number below zero as the value of the option before it, which can say what is wrong with it: the
    /// parser takes it for an option.
    static func withNegativeValues(_ arguments: [String]) -> [String] {
        func isNegative(_ word: String) -> Bool {
            word.first == "-" && word.dropFirst().first?.isWholeNumber == true
        }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        guard arguments[..<end].contains(where: isNegative) else { return arguments }
        let command = NestedCommand.named(by: arguments).command
        guard command != GrepCommand.self else { return arguments }
        let help = command.helpMessage(includeHidden: true)
        var joined: [String] = []
        for word in arguments[..<end] {
            if isNegative(word), let option = joined.last, takesValue(option, in: help) {
                joined[joined.endIndex - 1] = "\(option)=\(word)"
            } else {
                joined.append(word)
            }
        }
        return joined + arguments[end...]
    }

    /// As its page of help says.
    private static func takesValue(_ option: String, in help: String) -> Bool {
        option.hasPrefix("-")
            && help.split(separator: "\n").contains { line in
                let words = line.split(separator: " ")
                let names = words.prefix { $0.hasPrefix("-") }
                return names.contains { ($0.last == "," ? $0.dropLast() : $0) == option }
                    && words.dropFirst(names.count).first?.hasPrefix("<") == true
            }
    }

    private static func ofRun(_ words: ArraySlice<String>) -> ArraySlice<String> {
        var isValue = false
        return words.prefix { word in
            let isOption = word.hasPrefix("-")
            defer { isValue = isOption && word != "--files" && !word.contains("=") }
            return isOption || isValue
        }
    }
}
