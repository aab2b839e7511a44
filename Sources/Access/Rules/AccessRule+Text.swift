import Settings

/// Why the words of a rule make none: a sentence's end.
struct RuleObjection: Error {
    var message: String
}

extension AccessRule {
    /// Reads a rule as the configuration file has it: `allow`, `ask` or `deny`, and words: a program's path, `under A,B`,
    /// `unit U`, `when terminal` or `when none`, and for `ask` also `for TIME` or `every-time`. Words with spaces in them
    /// stand in single quotes, and a quote in them twice.
    init(key: String, text: String) throws(RuleObjection) {
        switch key {
        case "allow": self.init(.allow)
        case "ask": self.init(.ask(.untilLock))
        case "deny": self.init(.deny)
        default: throw RuleObjection(message: "it must be allow, ask or deny")
        }
        var words = try Self.words(text)[...]
        while let word = words.popFirst() {
            func next() throws(RuleObjection) -> String {
                guard let next = words.popFirst() else {
                    throw RuleObjection(message: "something is missing after '\(word)'")
                }
                return next
            }
            try take(word, next)
        }
    }

    private mutating func take(
        _ word: String, _ next: () throws(RuleObjection) -> String
    ) throws(RuleObjection) {
        func once(_ isTaken: Bool) throws(RuleObjection) {
            if isTaken { throw RuleObjection(message: "'\(word)' repeats what the rule already says") }
        }
        switch word {
        case "under":
            try once(!under.isEmpty)
            under = Self.programs(try next())
            if under.isEmpty {
                throw RuleObjection(message: "'under' must be followed by programs, such as claude,codex")
            }
        case "unit":
            try once(unit != nil)
            let name = try next()
            if name.isEmpty { throw RuleObjection(message: "the name behind 'unit' is empty") }
            unit = name
        case "when":
            try once(hasTerminal != nil)
            switch try next() {
            case "terminal": hasTerminal = true
            case "none": hasTerminal = false
            default: throw RuleObjection(message: "'when' must be followed by 'terminal' or 'none'")
            }
        case "for":
            guard outcome == .ask(.untilLock),
                let time = SettingKind<Duration>.duration.parseText(try next()),
                time > .zero
            else {
                throw RuleObjection(
                    message: "'for' needs a time, such as 10m, and may appear once, in an "
                        + "ask rule")
            }
            outcome = .ask(.lasting(time))
        case "every-time":
            guard outcome == .ask(.untilLock) else {
                throw RuleObjection(
                    message: "'every-time' needs an ask rule and cannot be combined with 'for'")
            }
            outcome = .ask(.everyTime)
        case let path where path.utf8.first == UInt8(ascii: "/"):
            try once(program != nil)
            program = path
        default:
            throw RuleObjection(
                message: "'\(word)' is not one of: a program's path, under, unit, when, for, every-time")
        }
    }

    /// The programs of a list with commas between them.
    public static func programs(_ list: String) -> [String] {
        list.unicodeScalars.split(separator: ",").map { String($0) }
    }

    /// By scalars: to `Character` a quote with a combining mark behind it is another one.
    private static func words(_ text: String) throws(RuleObjection) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "'" where isQuoted && rest.first == "'":
                rest.removeFirst()
                word?.append(scalar)
            case "'":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case " " where !isQuoted, "\t" where !isQuoted:
                if let whole = word { words.append(String(whole)) }
                word = nil
            default:
                var longer = word ?? String.UnicodeScalarView()
                longer.append(scalar)
                word = longer
            }
        }
        guard !isQuoted else { throw RuleObjection(message: "unclosed quote") }
        if let whole = word { words.append(String(whole)) }
        return words
    }

    /// `allow`, `ask` or `deny`.
    public var key: String {
        switch outcome {
        case .allow: "allow"
        case .ask: "ask"
        case .deny: "deny"
        }
    }

    /// The words behind the key.
    public var words: String {
        var words = [program].compactMap(\.self).map(Self.quoted)
        if !under.isEmpty { words += ["under", Self.quoted(under.joined(separator: ","))] }
        if let unit { words += ["unit", Self.quoted(unit)] }
        if let hasTerminal { words += ["when", hasTerminal ? "terminal" : "none"] }
        switch outcome {
        case .ask(.everyTime): words.append("every-time")
        case .ask(.lasting(let time)): words += ["for", SettingKind<Duration>.duration.text(of: time)]
        default: break
        }
        return words.joined(separator: " ")
    }

    /// The whole rule, as people read it.
    public var text: String { words.isEmpty ? key : "\(key) \(words)" }

    private static func quoted(_ word: String) -> String {
        // Control characters, too: the file drops some of them at its lines' ends.
        let isPlain = word.unicodeScalars.allSatisfy { $0 > " " && $0 != "'" && $0 != "\u{7F}" }
        guard !isPlain || word.isEmpty else { return word }
        var text = String.UnicodeScalarView("'".unicodeScalars)
        for scalar in word.unicodeScalars { text += scalar == "'" ? [scalar, scalar] : [scalar] }
        text.append("'")
        return String(text)
    }

    /// Whether its words say the same rule.
    var isReadBack: Bool { (try? AccessRule(key: key, text: words)) == self }

    /// As the configuration file has it.
    public var item: AccessSection.Item { AccessSection.Item(key: key, value: words) }
}
