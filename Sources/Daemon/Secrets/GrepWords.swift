import Stores

/// What was typed behind `grep`, as grep(1) takes it: some of it is ours to do, as grep has one secret at a time, from a pipe.
struct GrepWords {
    /// What of a secret that matches is told.
    enum Telling {
        /// Its name, and what grep prints of it.
        case lines
        /// The name alone; or, where `matching` is false, the names of those that do not match.
        case names(matching: Bool)
        /// The exit status alone.
        case nothing
    }

    /// What is left to grep.
    private(set) var words: [String] = []
    private(set) var telling = Telling.lines

    /// Whether nothing is printed.
    var isQuiet: Bool { if case .nothing = telling { true } else { false } }
    /// Whether the secrets that match are wanted, and not the others.
    var wantsMatching: Bool { if case .names(matching: false) = telling { false } else { true } }

    /// Short options with a value, and long ones whose value may be a word of its own.
    private static let valued: Set<Character> = ["e", "f", "m", "A", "B", "C", "d", "D"]
    private static let longValued: Set<String> = [
        "--regexp", "--file", "--max-count", "--after-context", "--before-context", "--context",
        "--binary-files",
        "--devices", "--directories", "--exclude", "--exclude-from", "--exclude-dir", "--include", "--label",
    ]
    /// Long forms of what is ours.
    private static let long: [String: Character] = [
        "--quiet": "q", "--silent": "q", "--files-with-matches": "l", "--files-without-match": "L",
        "--recursive": "r", "--dereference-recursive": "R", "--with-filename": "H", "--no-filename": "h",
        "--null": "Z",
    ]

    /// - Throws: one sentence where grep would look into other files.
    init(_ typed: [String]) throws(DaemonError) {
        var operands: [String] = []
        var (hasPattern, isOperand) = (false, false)
        var rest = typed[...]
        while let word = rest.popFirst() {
            if isOperand || word == "-" || !word.hasPrefix("-") {
                operands.append(word)
            } else if word == "--" {
                isOperand = true
            } else if word.hasPrefix("--") {
                if let own = Self.long[word] {
                    take(own)
                    continue
                }
                let name = String(word.prefix { $0 != "=" })
                if ["--regexp", "--file"].contains(name) { hasPattern = true }
                words.append(word)
                if name == word, Self.longValued.contains(word), let value = rest.popFirst() {
                    words.append(value)
                }
            } else {
                takeBundle(word, &rest, &hasPattern)
            }
        }
        if !hasPattern, let pattern = operands.first {
            operands.removeFirst()
            words += ["-e", pattern]
            hasPattern = true
        }
        guard hasPattern else { throw DaemonError(message: "name a pattern") }
        guard operands.isEmpty else {
            throw DaemonError(
                message:
                    "grep searches all secrets, and no file such as \(ShellWord.quoted(operands[0])): give one "
                    + "pattern, in quotes, or several, each behind -e")
        }
    }

    /// `-riA2`: letters, up to one that has a value.
    private mutating func takeBundle(
        _ word: String, _ rest: inout ArraySlice<String>, _ hasPattern: inout Bool
    ) {
        var kept = "-"
        let letters = word.dropFirst()
        for index in letters.indices {
            let letter = letters[index]
            guard Self.valued.contains(letter) else {
                if !take(letter) { kept.append(letter) }
                continue
            }
            if letter == "e" || letter == "f" { hasPattern = true }
            kept += letters[index...]
            words.append(kept)
            if letters.index(after: index) == letters.endIndex, let value = rest.popFirst() {
                words.append(value)
            }
            return
        }
        if kept != "-" { words.append(kept) }
    }

    /// Does what an option wants where that is not grep's to do.
    @discardableResult
    private mutating func take(_ letter: Character) -> Bool {
        switch letter {
        case "q": telling = .nothing
        case "l": if case .nothing = telling {} else { telling = .names(matching: true) }
        case "L": if case .nothing = telling {} else { telling = .names(matching: false) }
        // There is one stream for each secret, and its name is told anyhow.
        case "r", "R", "H", "h", "Z": break
        default: return false
        }
        return true
    }
}
