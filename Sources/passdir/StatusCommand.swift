import ArgumentParser
import Daemon

/// `passdir status`: asks the daemon how its stores are doing.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the mount and how its stores are doing.",
        discussion: """
            For each store: its folder and branch, changes that wait for their commit, commits that wait for \
            their push, the last commit and push, the last error, and saves that failed and are kept in memory. The exit \
            status is 1 while there are such saves.
            """
    )

    @Flag(help: "Print one JSON object: {\"mount\": ..., \"stores\": [...]}.")
    var json = false

    func run() throws {
        let client = ControlClient(
            socket: Daemon.controlSocket(environment: CallerEnvironment.variables()))
        let report = try client.status()
        if json {
            Output.print(json: try StatusJSON.line(report))
        } else {
            Output.print(lines: StatusText(report).lines)
            for warning in ExpiryWarning.sentences(environment: CallerEnvironment.variables()) {
                Output.print(lines: ["", "warning  \(warning)"])
            }
        }
        guard report.stores.allSatisfy(\.unsaved.isEmpty) else { throw ExitCode.failure }
    }
}
