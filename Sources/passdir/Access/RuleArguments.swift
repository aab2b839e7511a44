import Access
import ArgumentParser
import Glibc
import Settings
import Stores
import System
import SystemPackage

/// Whom a rule is for.
struct RuleReaders: ParsableArguments {
    @Argument(
        help:
            "The reading program: a path, or a name in PATH; several with commas. For a script, it is the interpreter.",
        completion: .file())
    var program: String?

    @Option(
        help: ArgumentHelp(
            "Programs, by name or path: the rule is for them and whatever they start.", valueName: "a,b"
        ))
    var under: String?

    @Option(help: "A systemd unit or scope; * matches any part of its name.")
    var unit: String?

    @Option(
        help: "terminal or none: for readers with a terminal, or without one.",
        completion: .list(["terminal", "none"]))
    var when: String?

    /// The rules for these readers, one for each program.
    func rules(_ outcome: AccessRule.Outcome) throws -> [AccessRule] {
        let names = try under.map(ProgramArgument.names) ?? []
        try unit.map(ProgramArgument.checkUnit)
        let terminal: Bool?
        switch when {
        case nil: terminal = nil
        case "terminal": terminal = true
        case "none": terminal = false
        case let other?: throw WrongUsage(message: "--when must be terminal or none, not \(other)")
        }
        let programs = try program.map(ProgramArgument.paths) ?? [nil]
        return programs.map {
            AccessRule(outcome, program: $0, under: names, unit: unit, hasTerminal: terminal)
        }
    }
}

/// A program that was typed.
enum ProgramArgument {
    /// The paths of one program, or of several with commas between them. A comma may be part of a file's name.
    static func paths(_ typed: String) throws -> [String?] {
        try checkIsNamed(typed)
        if typed.contains("/"), FilePath(typed).absolute.facts() != nil { return [try path(typed)] }
        let parts = typed.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !parts.contains("") else {
            throw WrongUsage(message: "\(typed) is no program, nor several with commas between them")
        }
        return try parts.map(path)
    }

    /// The programs of `--under`.
    static func names(_ typed: String) throws -> [String] {
        let names = AccessRule.programs(typed)
        guard !names.isEmpty else {
            throw WrongUsage(message: "--under needs program names, such as claude,codex")
        }
        return names
    }

    static func checkUnit(_ typed: String) throws {
        guard typed.isEmpty else { return }
        throw WrongUsage(message: "--unit needs the name of a unit or scope, such as backup.service")
    }

    static func checkIsNamed(_ typed: String) throws {
        guard typed.isEmpty else { return }
        throw WrongUsage(message: "the program's name is empty: give its path, or a name in PATH")
    }

    /// Its path, the same one whichever way its folder was named.
    static func path(_ typed: String) throws -> String {
        try checkIsNamed(typed)
        let found = FilePath(try found(typed))
        guard let name = found.lastComponent,
            let folder = try? found.removingLastComponent().resolvingLinks()
        else { return found.string }
        return folder.appending(name).string
    }

    /// The file that a typed program leads to, as processes have it; nil where there is none.
    static func file(_ typed: String) -> String? {
        guard let path = try? path(typed) else { return nil }
        return (try? FilePath(path).resolvingLinks())?.string
    }

    private static func found(_ typed: String) throws -> String {
        if typed.contains("/") { return FilePath(typed).absolute.string }
        let folders = (CallerEnvironment.variables()["PATH"] ?? "").split(separator: ":")
        for folder in folders where folder.hasPrefix("/") {
            let file = "\(folder)/\(typed)"
            if access(file, X_OK) == 0 { return file }
        }
        throw CommandFailure("\(typed) is not in PATH; give its full path")
    }

    /// Refuses what no process runs as its program. What is not here, or not to be read, may be denied before it is installed.
    static func checkIsNoScript(_ path: String, _ rule: AccessRule) throws {
        guard let words = rule.outcome == .allow ? try scriptWords(path) : try? scriptWords(path),
            !words.isEmpty
        else { return }
        let reads =
            "\(path) is a script: its interpreter, \(interpreter(words)), is what reads the secret"
        if rule.outcome == .allow {
            throw CommandFailure(
                "\(reads), so name that; its rule applies to every script, so narrow it with --unit or --when"
            )
        }
        let option = rule.outcome == .deny ? "--deny-under" : "--ask --under"
        let name = FilePath(path).lastComponent?.string ?? path
        throw CommandFailure(
            "\(reads), so no rule fits the script itself: use \(option) \(ShellWord.quoted(name)), which knows "
                + "scripts by their names, or name the interpreter")
    }

    /// That no program can be at a path now, for a warning; nil where one may be.
    static func absence(of path: String) -> String? {
        guard access(path, F_OK) != 0, errno == ENOENT || errno == ENOTDIR else { return nil }
        let file = path.prefix { $0 != " " }
        guard file.count < path.count, access(String(file), F_OK) == 0 else {
            return "\(path) does not exist yet; the rule applies once it does"
        }
        return "\(path) does not exist; a rule names a program's file, \(file), without arguments"
    }

    /// Refuses a name of `--under` that only a script has. What is not here, or not to be read, may be installed later.
    static func checkCanBeAllowed(under name: String) throws {
        guard let path = inPath(name), let words = try? scriptWords(path), !words.isEmpty else { return }
        throw CommandFailure(
            "\(path) is a script, and a name that a script gives itself never allows: name its interpreter, "
                + "\(interpreter(words)), with --under, and narrow it with --unit or --when, as that "
                + "runs every script")
    }

    /// What the kernel runs for a program: the file itself or, of a script, its interpreter, and the script's name.
    static func running(_ path: String) -> (program: String, script: String?) {
        guard let words = try? scriptWords(path), !words.isEmpty else { return (path, nil) }
        return (withoutLinks(interpreter(words)), FilePath(path).lastComponent?.string)
    }

    /// Which program the first line of a script means; empty where it has no words.
    private static func interpreter(_ words: [String]) -> String {
        let first = words.first ?? ""
        guard FilePath(first).lastComponent?.string == "env" else { return first }
        // That looks for the one behind its options and variables, and runs it in its own place.
        let behind = words.dropFirst().flatMap { $0.split(separator: " ").map(String.init) }
        let name = behind.first { !$0.hasPrefix("-") && !$0.contains("=") }
        return name.flatMap(inPath) ?? first
    }

    /// As `running`, of a name of `--under`, which need be no file.
    static func runningUnder(_ name: String) -> (program: String, script: String?) {
        guard let path = inPath(name) else { return (name, nil) }
        let runs = running(path)
        if runs.script != nil { return runs }
        let program = withoutLinks(path)
        // By its name, not that of the file that a link leads to, a program knows itself only.
        return (program, FilePath(path).lastComponent?.string)
    }

    private static func withoutLinks(_ path: String) -> String {
        (try? FilePath(path).resolvingLinks())?.string ?? path
    }

    /// The file of a path or of a name in PATH; nil where there is none.
    private static func inPath(_ name: String) -> String? {
        guard let path = try? found(name), access(path, F_OK) == 0 else { return nil }
        return path
    }

    /// The words of a script's first line; empty where a file is none.
    private static func scriptWords(_ path: String) throws -> [String] {
        guard let file = try? OwnedDescriptor(opening: FilePath(path), O_RDONLY | O_NONBLOCK) else {
            throw CommandFailure("cannot read the program \(path)")
        }
        var start = [UInt8](repeating: 0, count: 256)
        let count = max(0, read(file.raw, &start, start.count))
        guard start.prefix(count).starts(with: "#!".utf8) else { return [] }
        let line = String(decoding: start[2..<count].prefix { $0 != 10 }, as: UTF8.self)
        return line.split(separator: " ").map(String.init)
    }
}
