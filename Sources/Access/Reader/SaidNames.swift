import Glibc

/// What a process says that it is, by its command: nobody checks that, so it counts against a process only.
enum SaidNames {
    /// The names by which the system knows interpreters, without a version behind them.
    private static let interpreters: Set<String> = [
        "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox", "env", "python", "pypy", "node",
        "nodejs",
        "deno", "bun", "uv", "perl", "ruby", "php", "lua", "luajit", "java", "tclsh", "Rscript", "pwsh",
        "tsx",
    ]
    /// Those that are told first what to do: `deno run`.
    private static let withVerbs: Set<String> = ["busybox", "deno", "bun", "uv"]

    /// What ends options, and single signs that a shell takes for options which say nothing.
    private static let noScripts: Set<String> = ["--", "-", "+"]
    /// Stands for names that were not looked at; no process has it for a name.
    static let further = "\0"

    /// The process's own name, the last part of its command's first word, and that of the word behind it which is no option. An
    /// interpreter runs that, and its options may have values: behind each of them one word more may be the script.
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
        var most = kinds.contains { withVerbs.contains($0) } ? 2 : 1
        for word in words.dropFirst() where !noScripts.contains(word) {
            if word.hasPrefix("-") || isInterpreter && word.hasPrefix("+") {
                if isInterpreter, !word.utf8.contains(UInt8(ascii: "=")) { most += 1 }
                continue
            }
            add(word)
            most -= 1
            if most == 0 { return names }
        }
        return command.areAll ? names : names + [further]
    }

    /// All above each reader are looked at: from the end, which `FilePath` would go to through all of it.
    private static func lastPart(_ word: String) -> String {
        let slash = UInt8(ascii: "/")
        guard let end = word.utf8.lastIndex(where: { $0 != slash }) else { return word }
        let path = word.utf8[...end]
        return String(path[(path.lastIndex(of: slash).map(path.index(after:)) ?? path.startIndex)...]) ?? word
    }

    /// `python` of `python3.11`, and of `-bash`, as a login shell is called, `bash`.
    private static func kind(_ name: String) -> String {
        var name = name[...]
        if name.hasPrefix("-") { name.removeFirst() }
        while let last = name.last, last.isNumber || last == "." { name.removeLast() }
        return String(name)
    }
}
