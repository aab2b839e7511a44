/// Follows the commands of a script as far as to know where a shell makes more of a word than the word itself, however it is quoted:
/// it runs parts of what `eval` and `[[ -eq ]]` are given, and of a value for a variable with `declare -i`.
///
/// Bash runs `$(…)` in a value that it calculates with, as in `a[$(…)]`. Where a command's name is not certain, it counts as one
/// of these rather than not.
struct ShellCommand {
    /// What a command does with its words.
    private enum Kind {
        case ordinary
        /// Runs or calculates them, or takes them for variables.
        case evaluating
        case declaring
        case printing
        /// A shell, and the text that it is given to run.
        case shell, script
        /// The words of `NAME=(…)`.
        case array
    }

    private let bytes: UnsafeRawBufferPointer
    private var kind = Kind.ordinary
    /// Whether the word that comes next is the name of a command.
    private var isAtName = true
    private var isConditional = false
    /// The next word is a file's name.
    private var isRedirected = false
    private var wordStart: Int?
    /// The commands around this one.
    private var outer: [(kind: Kind, isAtName: Bool)] = []

    /// Whether nothing more is certain: a variable is declared whose values are calculated, or parentheses do not say where a
    /// command ends.
    private(set) var isLost = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether a `[` is the command of that name, or of `[[`; else it may begin the subscript of an array.
    func isTest(_ index: Int) -> Bool {
        if isConditional { return true }
        guard isAtName, !isRedirected, index + 1 < bytes.count else { return false }
        if let wordStart { return wordStart == index - 1 && bytes[wordStart] == UInt8(ascii: "[") }
        return bytes[index + 1].isWhiteSpace || bytes[index + 1] == UInt8(ascii: "[")
    }

    /// Whether a value that a reference gives would not stay what it is.
    func evaluates(_ reference: Range<Int>) -> Bool {
        if isConditional { return true }
        switch kind {
        case .evaluating, .script: return true
        case .declaring:
            // Before the = there is a name, with a subscript; and an array is read once more, without its quotes.
            let word = (wordStart ?? reference.lowerBound)..<reference.lowerBound
            return !bytes[word].contains(UInt8(ascii: "="))
                || word.contains { bytes.begins($0..<word.upperBound, with: "=(") }
        // An option may have its argument in it.
        case .printing, .shell: return wordStart.map { bytes[$0] == UInt8(ascii: "-") } ?? false
        case .ordinary, .array: return false
        }
    }

    /// A reference stands here, as a word or a part of one.
    mutating func passReference(_ reference: Range<Int>) { wordStart = wordStart ?? reference.lowerBound }

    /// - Parameter isQuoted: whether it stands in quotes, is one, or stands behind a backslash or is that.
    mutating func take(_ byte: UInt8, at index: Int, isQuoted: Bool) {
        guard !isQuoted, byte.isWhiteSpace || ";&|()<>".utf8.contains(byte) else {
            wordStart = wordStart ?? index
            return
        }
        let before = index > 0 ? bytes[index - 1] : 0
        if byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") {
            // The number of a descriptor is no word.
            if let start = wordStart, bytes[start..<index].allSatisfy(\.isDigit) { wordStart = nil }
            endWord(at: index)
            isRedirected = true
            return
        }
        endWord(at: index)
        if isConditional { return }
        switch byte {
        case UInt8(ascii: "("):
            outer.append((kind, isAtName))
            let isArray = before == UInt8(ascii: "=")
            (kind, isAtName, isRedirected) = (isArray ? .array : .ordinary, !isArray, false)
        case UInt8(ascii: ")"):
            (kind, isAtName) = outer.popLast() ?? (.ordinary, true)
        case UInt8(ascii: "\n"), UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "|"):
            let isOfRedirection =
                byte != UInt8(ascii: "\n") && isRedirected || bytes.begins(index..<bytes.count, with: "&>")
            if isOfRedirection || kind == .array { return }
            (kind, isAtName, isRedirected) = (.ordinary, true, false)
        default: break
        }
    }

    private mutating func endWord(at end: Int) {
        guard let start = wordStart else { return }
        wordStart = nil
        // In a condition > compares.
        if isRedirected, !isConditional {
            isRedirected = false
            return
        }
        // An alias is not meant then, and the command is.
        let word = (bytes[start] == UInt8(ascii: "\\") ? start + 1 : start)..<end
        if isConditional {
            if bytes.equals(word, "]]") { isConditional = false }
        } else if isAtName {
            begin(word)
        } else {
            follow(word)
        }
    }

    private static let prefixes: [StaticString] = [
        "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin", "exec",
        "coproc", "env", "nohup", "sudo",
    ]
    private static let evaluating: [StaticString] = [
        "let", "eval", "trap", "source", ".", "alias", "unset", "read", "mapfile", "readarray", "getopts",
        "wait", "exit", "return", "shift", "break", "continue", "complete", "compgen", "bind",
    ]
    private static let declaring: [StaticString] = ["declare", "typeset", "local", "readonly", "export"]
    private static let shells: [StaticString] = ["sh", "bash", "dash", "ksh", "mksh", "zsh", "su"]

    private func isOne(_ word: Range<Int>, of names: [StaticString]) -> Bool {
        names.contains { bytes.equals(word, $0) }
    }

    private mutating func begin(_ word: Range<Int>) {
        guard !isOne(word, of: Self.prefixes), bytes[word].first != UInt8(ascii: "-"), !isAssignment(word)
        else { return }
        isAtName = false
        let slash = bytes[word].lastIndex(of: UInt8(ascii: "/"))
        let name = (slash.map { $0 + 1 } ?? word.lowerBound)..<word.upperBound
        if isOne(word, of: Self.evaluating) {
            kind = .evaluating
        } else if isOne(word, of: Self.declaring) {
            kind = .declaring
        } else if isOne(word, of: ["integer", "float"]) || !outer.isEmpty && bytes.equals(word, "case") {
            isLost = true
        } else if bytes.equals(word, "[[") {
            isConditional = true
        } else if isOne(name, of: ["test", "["]) {
            kind = comparesNumbers(from: word.upperBound) ? .evaluating : .ordinary
        } else if isOne(name, of: ["printf"]) {
            kind = .printing
        } else if isOne(name, of: Self.shells) {
            kind = .shell
        }
    }

    /// A word behind the name of a command.
    private mutating func follow(_ word: Range<Int>) {
        if bytes.equals(word, "{") { (kind, isAtName) = (.ordinary, true) }
        let isOption = bytes[word].first == UInt8(ascii: "-") || bytes[word].first == UInt8(ascii: "+")
        switch kind {
        case .declaring where isOption:
            isLost = isLost || bytes[word].contains { "inEF".utf8.contains($0) }
        case .printing where bytes.begins(word, with: "-v"): kind = .evaluating
        case .shell where isOption && !bytes.begins(word, with: "--"):
            if bytes[word].contains(UInt8(ascii: "c")) { kind = .script }
        case .script where !isOption: kind = .ordinary
        default: break
        }
    }

    private func isAssignment(_ word: Range<Int>) -> Bool {
        let rest = bytes[word].drop { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
        return rest.startIndex > word.lowerBound && rest.first.map("=+[".utf8.contains) == true
    }

    private static let numeric: [StaticString] = [
        "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R",
    ]

    /// Whether the rest of the line has an operator of test(1) that some shells calculate for.
    private func comparesNumbers(from start: Int) -> Bool {
        var wordStart = start
        for index in start..<bytes.count where bytes[index].isWhiteSpace {
            if isOne(wordStart..<index, of: Self.numeric) { return true }
            if bytes[index] == UInt8(ascii: "\n") { return false }
            wordStart = index + 1
        }
        return false
    }
}
