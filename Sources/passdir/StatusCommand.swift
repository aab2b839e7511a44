import ArgumentParser
import Daemon

/// `passdir status`: asks the daemon how its stores are doing.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the mount and how its stores are doing.",
        discussion: """
            For each store: its folder and branch, the changes to commit, the commits to push, the last commit and push, the \
            last error, and failed saves that are kept in memory. The exit status is 1 while there are such saves. If \
            nothing is mounted, it says so, examines the stores itself, and exits with status 1.

            Example: passdir status --json | jq '.stores[] | {name, state, lastError}'
            """
    )

    @Flag(
        help:
            "Print one JSON object: {\"mount\": ..., \"stores\": [...]}; mount is null if nothing is mounted."
    )
    var json = false

    func run() throws {
        let environment = CallerEnvironment.variables()
        var report: StatusReport
        do throws(ControlError) {
            report = try ControlClient(socket: Daemon.controlSocket(environment: environment)).status()
        } catch {
            guard error.code == .noDaemon else { throw error }
            return try tellUnmounted(environment)
        }
        let credentials = CredentialReport.known(environment: environment)
        report.stores = report.stores.with(credentials)
        if json {
            Output.print(json: try StatusJSON.line(report))
        } else {
            Output.print(lines: StatusText(report).lines)
            for warning in credentials.compactMap(\.warning) {
                Output.print(lines: ["", "warning  \(warning)"])
            }
        }
        guard report.stores.allSatisfy(\.unsaved.isEmpty) else { throw ExitCode.failure }
    }

    private func tellUnmounted(_ environment: [String: String]) throws {
        let report = UnmountedReport(
            try UnmountedStores(environment: environment).status()
                .with(CredentialReport.known(environment: environment)))
        if json {
            Output.print(json: report)
        } else {
            Output.print(lines: StatusText(report).lines)
        }
        throw CommandFailure.noDaemon()
    }
}
