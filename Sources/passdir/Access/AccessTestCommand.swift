import Access
import ArgumentParser
import Daemon
import Glibc
import Settings
import Stores
import SystemPackage

/// `passdir access test`: which rule decides, and why.
struct AccessTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Show which rule decides for a program.",
        discussion: """
            Nothing is read, and nobody is asked. The reader is either a running process or one that you describe; it has a \
            terminal unless you pass --when none. The exit status is 0 if it may read, or you would be asked, and 1 if not.

            Examples:
              passdir access test work/aws/key --as /usr/bin/python3
              passdir access test work/aws/key --as cat --under claude
              passdir access test work/aws/key --process $$
            """
    )

    @Argument(help: "The secret: STORE/PATH, or a path in the mount.", completion: PlaceCompletion.places)
    var place: String

    @Option(name: .customLong("as"), help: "The program: a path, or a name in PATH.", completion: .file())
    var program: String?

    @Option(help: ArgumentHelp("The programs that started it, nearest first.", valueName: "a,b"))
    var under: String?

    @Option(help: "The systemd unit or scope that it runs in.")
    var unit: String?

    @Option(help: "terminal or none.", completion: .list(["terminal", "none"]))
    var when: String?

    @Option(help: ArgumentHelp("A running process, instead of all these.", valueName: "pid"))
    var process: Int32?

    @Flag(help: "Print one JSON object: {\"secret\", \"outcome\", \"rule\", \"reader\", \"isLocked\"}.")
    var json = false

    private struct Report: Encodable {
        var secret: String
        var outcome: String
        var rule: String?
        var reader: String
        var isLocked: Bool
    }

    func validate() throws {
        guard program == nil || process == nil else {
            throw ValidationError("--as and --process cannot be used together")
        }
        guard program != nil || process != nil else {
            throw ValidationError("either --as or --process is required")
        }
        guard when.map({ ["terminal", "none"].contains($0) }) ?? true else {
            throw ValidationError("--when must be terminal or none")
        }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let configuration = try Configuration(file: Configuration.defaultPath(environment: environment))
        let rules = try AccessOptions(configuration).rules
        let secret = try AccessPlace.named(place, environment: environment)
        if AccessPlace.findings(environment: environment)(secret) == .link {
            throw CommandFailure("\(secret) is a symbolic link: name what it leads to")
        }
        let reader = try reader()
        let (decision, judged) = AccessPlace.decision(of: secret, by: rules, for: reader)
        let outcome = Self.word(decision.outcome)
        let store = String(secret.unicodeScalars.prefix { $0 != "/" })
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let isLocked = (try? client.access())?.locked.contains(store) ?? false
        if json {
            Output.print(
                json: Report(
                    secret: secret, outcome: outcome, rule: decision.rule?.text, reader: reader.title,
                    isLocked: isLocked))
        } else {
            let why: String =
                switch (decision.rule, rules.governing(judged)) {
                case (let rule?, _): "by the rule \"\(rule.text)\", the first match"
                case (nil, let place?): "no rule of \(place) or above it matches"
                case (nil, nil): "no rules apply to it"
                }
            let version = judged == secret ? "" : ", a version of \(judged)"
            Output.print("\(outcome): \(reader.title) reads \(secret)\(version): \(why)")
            if isLocked {
                Output.print("\(store) is locked, so nothing in it can be read until it is unlocked")
            }
        }
        if decision.outcome == .deny { throw ExitCode.failure }
    }

    private static func word(_ outcome: AccessRule.Outcome) -> String {
        switch outcome {
        case .allow: "allow"
        case .ask: "ask"
        case .deny: "deny"
        }
    }

    private func reader() throws -> Access.Reader {
        if let process {
            guard kill(process, 0) == 0 || errno == EPERM else {
                throw CommandFailure("there is no process \(process)")
            }
            return Access.Reader(ofThread: process)
        }
        try unit.map(ProgramArgument.checkUnit)
        let runs = ProgramArgument.running(try ProgramArgument.path(program ?? ""))
        return Access.Reader(
            supposing: runs.program, script: runs.script,
            below: try under.map(ProgramArgument.names).map { $0.map(ProgramArgument.runningUnder) } ?? [],
            unit: unit,
            hasTerminal: when != "none")
    }
}
