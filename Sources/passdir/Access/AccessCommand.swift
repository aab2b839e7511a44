import Access
import ArgumentParser
import Daemon
import Settings
import Stores
import System
import SystemPackage

/// `passdir access`: who may read.
struct AccessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access",
        abstract: "Decide which programs may read which secrets, and see which have.",
        discussion: """
            Without rules, every program of yours may read. Rules belong to a store, a folder or a secret: those of the longest \
            place are tried first, in their order, and the first one that fits decides. They are kept in the configuration \
            file, in sections such as [access "work/aws"].

            Examples:
              passdir access set work/aws --ask
              passdir access set work/aws --deny-under claude,codex,cursor
              passdir access test work/aws/key --as /usr/bin/python3
              passdir access log --since 2h
            """,
        subcommands: [
            AccessShowCommand.self, AccessSetCommand.self, AccessUnsetCommand.self, AccessTestCommand.self,
            AccessLogCommand.self,
        ],
        defaultSubcommand: AccessShowCommand.self
    )
}

/// `passdir access show`: the rules in force.
struct AccessShowCommand: ParsableCommand, CommandWithoutArguments {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the rules in force, in order, and what is locked.",
        discussion: """
            If the configuration file has an error, the mount keeps the rules from before; this command then says so and exits \
            with status 1.

            Example: passdir access --json | jq -r '.rules[] | "\\(.place): \\(.rule)"'
            """, aliases: OtherNames.of("show", like: "list"))

    @Flag(
        help:
            "Print one JSON object: {\"rules\": [{\"place\", \"rule\"}], \"locked\", \"isLogging\", \"problem\"}."
    )
    var json = false

    func run() throws {
        let environment = CallerEnvironment.variables()
        let report: AccessReport
        do throws(ControlError) {
            report = try ControlClient(socket: Daemon.controlSocket(environment: environment)).access()
        } catch {
            guard error.code == .noDaemon else { throw error }
            let configuration = try Configuration(file: Configuration.defaultPath(environment: environment))
            report = AccessReport(try AccessOptions(configuration))
        }
        if json { Output.print(json: report) } else { tell(report, environment) }
        if report.problem != nil { throw ExitCode.failure }
    }

    private static func mark(_ finding: AccessPlace.Finding) -> String {
        switch finding {
        case .something: ""
        case .nothing: "  (does not exist)"
        case .link: "  (is a symbolic link: what it leads to has other rules)"
        }
    }

    private func tell(_ report: AccessReport, _ environment: [String: String]) {
        // Where the configuration has an error, the stores are not known.
        let stores = report.problem == nil ? Set(StoreContext.definitions().map(\.name)) : nil
        let finding = AccessPlace.findings(environment: environment)
        var lines = report.rules.enumerated().map { number, rule in
            let name = String(rule.place.unicodeScalars.prefix { $0 != "/" })
            let mark: String =
                switch stores {
                case let stores? where !stores.contains(name): "  (there is no store \"\(name)\")"
                case nil: ""
                case _?: Self.mark(finding(rule.place))
                }
            return "\(number + 1)  \(rule.place)  \(rule.rule)\(mark)"
        }
        if lines.isEmpty { lines.append("no rules: every program of yours may read") }
        for store in report.locked { lines.append("locked  \(store)") }
        if !report.isLogging { lines.append("log     off") }
        if let problem = report.problem {
            lines.append("error   the configuration has an error, so these older rules apply: \(problem)")
        }
        Output.print(lines: lines)
    }
}
