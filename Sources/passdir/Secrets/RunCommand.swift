import ArgumentParser
import Contents
import Daemon
import Stores
import System
import SystemPackage

/// `passdir run`: a program with secrets in its environment. It takes our place, so that nothing stands between it and whoever
/// started us.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with secrets in its environment.",
        discussion: """
            The values are of references to secrets, as in 'passdir render', and go into the variables as they are, without a \
            shell. An env file has lines NAME=VALUE with references in the values. If a reference has no value, nothing is run. \
            The last of several values for one variable counts, and --env comes last.

            The command takes passdir's place: terminal, signals, process group and exit status are as without passdir, but it \
            makes no core dump. The values are in no file and no argument. Your other programs can read them in \
            /proc/PID/environ as long as the command or what it starts runs. The access rules apply to the program that runs \
            passdir.

            Examples:
              passdir run --env PGPASSWORD=passdir://work/db#first -- psql
              passdir run --env-file .env -- docker compose up
            """
    )

    @Option(
        help: ArgumentHelp("A file of variables; may be given several times.", valueName: "file"),
        completion: .file())
    var envFile: [String] = []

    @Option(help: ArgumentHelp("A variable and its value; likewise.", valueName: "name=reference"))
    var env: [String] = []

    @Argument(parsing: .postTerminator, help: "The command and its arguments, behind --.")
    var command: [String] = []

    func validate() throws {
        if command.isEmpty { throw ValidationError("name the command behind '--'") }
    }

    func run() throws {
        // First: all that is opened and caught from here on is ours.
        let replacement = ProcessReplacement()
        let environment = CallerEnvironment.variables()
        let files = try envFile.map { name in
            let input = try TemplateInput(name, orStandardInput: false)
            return (input, try input.naming { (bytes) throws(ContentsError) in try VariableFile.read(bytes) })
        }
        let arguments = try env.map { argument in
            do throws(ContentsError) {
                return try VariableTemplate(argument: argument)
            } catch {
                throw CommandFailure("--env: \(error)")
            }
        }
        let variables = try PromptInterruption.during { cancellation in
            let values = try ReferencedValues(cancellation: cancellation, environment: environment)
            var variables: [(name: String, value: SecretBytes)] = []
            for (input, templates) in files {
                for template in templates {
                    let value = try input.naming { (_) throws(ContentsError) in
                        try template.value { try values.value(of: $0.target) }
                    }
                    variables.append((template.name, value))
                }
            }
            for template in arguments {
                let value = try template.value { try values.value(of: $0.target) }
                variables.append((template.name, value))
            }
            return variables
        }
        do throws(Errno) {
            try replacement.run(lastArguments: command.count, variables: variables)
        } catch {
            throw fail(error)
        }
    }

    /// As shells say it, and with their exit status.
    private func fail(_ error: Errno) -> ExitCode {
        let isMissing = error == .noSuchFileOrDirectory
        let reason =
            if isMissing, !command[0].contains("/") {
                "command not found"
            } else if error == .argListTooLong {
                "its arguments and variables together are too long"
            } else {
                "\(error)"
            }
        StandardError.print("passdir: \(command[0]): \(reason)")
        return ExitCode(isMissing ? 127 : 126)
    }
}
