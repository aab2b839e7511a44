import ArgumentParser
import Daemon
import System

/// `passdir status`: asks the daemon how its stores are doing.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the mount and how its stores are doing.",
        discussion: """
            For each store: its folder and branch, whether it is locked, the changes to commit, the commits to push, the last \
            commit and push, the last error, and failed saves that are kept in memory. The exit status is 1 while there are \
            such saves. If nothing is mounted, it shows what it can find out about the stores itself, says that nothing is \
            mounted, and exits with status 1.

            With --follow, it prints the status again whenever something changes, such as the progress of a change of \
            recipients, until the mount ends or you press Ctrl-C.

            Example: passdir status --json | jq '.stores[] | {name, state, lastError}'
            """
    )

    @Flag(
        help:
            "Print one JSON object: {\"mount\": ..., \"stores\": [...]}; mount is null if nothing is mounted."
    )
    var json = false

    @Flag(help: "Print the status again whenever it changes; with --json, one object a line.")
    var follow = false

    /// How long a change may go unseen. The daemon looks at each store's disk when it is asked.
    private static let interval = Duration.seconds(1)

    func run() throws {
        let environment = CallerEnvironment.variables()
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        var last: StatusReport?
        var told: [String] = []
        while let report = try report(of: client, isFirst: last == nil) {
            if report != last {
                let lines = try lines(of: report, environment)
                if lines != told { tell(lines, after: told) }
                (last, told) = (report, lines)
            }
            guard follow else {
                guard report.stores.allSatisfy(\.unsaved.isEmpty) else { throw ExitCode.failure }
                return
            }
            PosixThread.sleep(for: Self.interval)
        }
        if !told.isEmpty, !json { Output.print("") }
        try tellUnmounted(environment)
    }

    /// nil where no daemon runs.
    private func report(of client: ControlClient, isFirst: Bool) throws(ControlError) -> StatusReport? {
        do throws(ControlError) {
            return try client.status()
        } catch {
            switch error.code {
            case .noDaemon: return nil
            case .failed where !isFirst:
                // A daemon that ends lets go of the connection that it has just taken: the next look says so.
                PosixThread.sleep(for: Self.interval)
                return try report(of: client, isFirst: true)
            default: throw error
            }
        }
    }

    private func lines(of report: StatusReport, _ environment: [String: String]) throws -> [String] {
        var report = report
        let credentials = CredentialReport.known(environment: environment)
        report.stores = report.stores.with(credentials)
        if json { return [try StatusJSON.line(report)] }
        return StatusText(report).lines
            + credentials.compactMap(\.warning).flatMap { ["", "warning  \($0)"] }
    }

    private func tell(_ lines: [String], after told: [String]) {
        if json {
            for line in lines { Output.print(json: line) }
        } else {
            Output.print(lines: told.isEmpty ? lines : [""] + lines)
        }
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
