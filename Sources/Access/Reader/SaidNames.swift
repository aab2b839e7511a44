import Glibc

/// What a process says that it is, by its command: nobody checks that, so it counts against a process only.
enum SaidNames {
    /// The names by which the system knows interpreters, without a version behind them.
    private static let interpreters: Set<String> = [
        "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox", "env", "python", "pypy", "node",
        "nodejs",
        "deno", "bun", "uv", "perl", "ruby", "php", "lua", "luajit", "java", "tclsh", "Rscript", "pwsh",
        "tsx", "rbash", "yash", "csh", "tcsh", "awk", "gawk", "mawk", "nawk", "original-awk", "make", "gmake",
        "sed",
        "expect", "wish", "guile", "ipython", "escript", "elixir", "ts-node",
    ]
    /// Those in which one word of options may have several values, which stand behind it: `-oO nounset extglob`.
    private static let shells: Set<String> = [
        "sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "busybox", "env",
    ]
    /// Those that are told first what to do: `deno run`.
    private static let withVerbs: Set<String> = ["busybox", "deno", "bun", "uv"]

    /// What ends options, and single signs that a shell takes for options which say nothing.
    private static let noScripts: Set<String> = ["--", "-", "+"]
    /// Stands for names that were not looked at; no process has it for a name.
    static let further = "\0"
    /// How much is kept of words that may end with a name.
    private static let mostOfEndings = 16 << 10

    /// The process's own name, the last part of its command's first word, and that of the word behind it which is no option. An
    /// interpreter runs that, and its options may have values: behind each of them one word more may be the script. A value may
    /// be of one word with its option, too: `--file=NAME`, or `-uxmNAME`, of which only the program knows where NAME begins, so
    /// that the word is kept behind a zero for `areOf`, which takes each end of it.
    ///
    /// Where none of these was reached and words are missing, `further` is the last.
    static func of(_ name: String, _ command: CommandWords, running program: Program?) -> [String] {
        var names = [name]
        var known: Set = [name]
        func add(_ word: String) {
            // Nothing longer can be opened: it is the text of a script itself.
            guard word.utf8.count < PATH_MAX else { return }
            let last = lastPart(word)
            if known.insert(last).inserted { names.append(last) }
        }
        let words = command.words.filter { !$0.isEmpty }
        if let first = words.first { add(first) }
        let kinds = [program?.name, words.first.map(lastPart)].compactMap(\.self).map(kind)
        let isInterpreter = kinds.contains { interpreters.contains($0) }
        let isShell = kinds.contains { shells.contains($0) }
        var ofEndings = 0
        func addValue(in option: String) {
            guard option.utf8.count < PATH_MAX else { return }
            if option.hasPrefix("--") {
                guard let sign = option.firstIndex(of: "=") else { return }
                return add(String(option[option.index(after: sign)...]))
            }
            if option.utf8.contains(UInt8(ascii: "/")) { return add(option) }
            // Without its sign and one letter at least; no name is longer.
            let ending =
                "\0" + String(decoding: option.utf8.dropFirst(2).suffix(Int(NAME_MAX)), as: UTF8.self)
            guard ending != further, known.insert(ending).inserted else { return }
            ofEndings += ending.utf8.count
            names.append(ofEndings <= mostOfEndings ? ending : further)
        }
        var most = kinds.contains { withVerbs.contains($0) } ? 2 : 1
        for word in words.dropFirst() where !noScripts.contains(word) {
            if word.hasPrefix("-") || isInterpreter && word.hasPrefix("+") {
                guard isInterpreter else { continue }
                addValue(in: word)
                if !word.utf8.contains(UInt8(ascii: "=")) { most += values(behind: word, ofShell: isShell) }
                continue
            }
            add(word)
            most -= 1
            if most == 0 { return names }
        }
        return command.areAll ? names : names + [further]
    }

    /// Whether what a process says that it is may be one of these names.
    static func areOf(_ names: [String], _ said: [String]) -> Bool {
        said.contains { one in
            if one == further { return true }
            guard one.hasPrefix("\0") else { return names.contains(one) }
            return names.contains { !$0.isEmpty && one.dropFirst().hasSuffix($0) }
        }
    }

    /// How many words behind an option may be its values.
    private static func values(behind option: String, ofShell isShell: Bool) -> Int {
        guard isShell, !option.hasPrefix("--") else { return 1 }
        return max(1, option.utf8.count { "oOc".utf8.contains($0) })
    }

    /// All above each reader are looked at: from the end, which `FilePath` would go to through all of it.
    private static func lastPart(_ word: String) -> String {
        let slash = UInt8(ascii: "/")
        guard let end = word.utf8.lastIndex(where: { $0 != slash }) else { return word }
        let path = word.utf8[...end]
        return String(path[(path.lastIndex(of: slash).map(path.index(after:)) ?? path.startIndex)...]) ?? word
    }

    /// `python` of `python3.11`, `gawk` of `gawk-5.2.1`, and of `-bash`, as a login shell is called, `bash`.
    private static func kind(_ name: String) -> String {
        var name = name[...]
        if name.hasPrefix("-") { name.removeFirst() }
        while let last = name.last, last.isNumber || last == "." || last == "-" { name.removeLast() }
        return String(name)
    }
}
