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

            With --files, a variable whose value is a reference gets the path of a file in the mount that holds the value, and \
            is gone when the command has ended. The value is made whenever the file is opened, and the access rules apply to \
            the program that opens it.

            The command takes passdir's place: terminal, signals, process group and exit status are as without passdir, but it \
            makes no core dump. The values are in no file and no argument. Your other programs can read them in \
            /proc/PID/environ as long as the command or what it starts runs. The access rules apply to the program that runs \
            passdir.

            Examples:
              passdir run --env PGPASSWORD=passdir://work/db#first -- psql
              passdir run --env-file .env -- docker compose up
              passdir run --files --env KUBECONFIG=passdir://work/kube -- kubectl get pods
            """
    )

    @Option(
        help: ArgumentHelp("A file of variables; may be given several times.", valueName: "file"),
        completion: .file())
    var envFile: [String] = []

    @Option(help: ArgumentHelp("A variable and its value; likewise.", valueName: "name=reference"))
    var env: [String] = []

    @Flag(help: "Give paths of files with the values, which the mount shows as long as the command runs.")
    var files = false

    @Argument(parsing: .postTerminator, help: "The command and its arguments, behind --.")
    var command: [String] = []

    func validate() throws {
        if command.isEmpty { throw ValidationError("name the command behind '--'") }
    }

    func run() throws {
        // First: all that is opened and caught from here on is ours.
        let replacement = ProcessReplacement()
        let environment = CallerEnvironment.variables()
        let inputs = try envFile.map { name in
            let input = try TemplateInput(name, orStandardInput: false)
            return (input, try input.naming { (bytes) throws(ContentsError) in try VariableFile.read(bytes) })
        }
        let arguments = try env.map { argument in
            do throws(ContentsError) {
                return try VariableTemplate(argument: argument)
            } catch {
                throw WrongUsage(message: "--env: \(error)")
            }
        }
        let templates: [(input: TemplateInput?, variable: VariableTemplate)] =
            inputs.flatMap { input, variables in variables.map { (input, $0) } } + arguments.map { (nil, $0) }
        let folder = try files ? hold(templates.map(\.variable), environment) : nil
        // Files are read by the command, in the mount, which asks by itself.
        let read = templates.map(\.variable).filter { folder == nil || $0.reference == nil }
        let variables = try LockedStore.during(
            reading: read.flatMap(\.references).map(\.target.store), environment: environment
        ) { cancellation in
            let values = try ReferencedValues(cancellation: cancellation, environment: environment)
            return try templates.map { input, variable in
                if let folder, variable.reference != nil {
                    var path = folder.appending(variable.name).string
                    let bytes = try path.withUTF8 { try SecretBytes(copying: UnsafeRawBufferPointer($0)) }
                    return (name: variable.name, value: bytes)
                }
                let value = { () throws(ContentsError) in
                    try variable.value { try values.value(of: $0.target) }
                }
                guard let input else { return (name: variable.name, value: try value()) }
                return (
                    name: variable.name, value: try input.naming { (_) throws(ContentsError) in try value() }
                )
            }
        }
        do throws(Errno) {
            try replacement.run(lastArguments: command.count, variables: variables)
        } catch {
            throw fail(error)
        }
    }

    /// Has the mount show a file for each variable that is a reference; of several with one name the last counts.
    private func hold(_ variables: [VariableTemplate], _ environment: [String: String]) throws -> FilePath? {
        var references: [String: String] = [:]
        for variable in variables {
            if let reference = variable.reference {
                references[variable.name] = reference
            } else if !variable.references.isEmpty {
                throw CommandFailure(
                    "with --files, the value of \(variable.name) must be a reference and nothing else: "
                        + "passdir template makes files with more in them")
            }
        }
        guard !references.isEmpty else { return nil }
        do throws(ControlError) {
            return try ControlClient(socket: Daemon.controlSocket(environment: environment)).holdFiles(
                references.map { HeldFileRequest(name: $0.key, reference: $0.value) })
        } catch {
            guard error.code == .noDaemon else { throw CommandFailure(error.message) }
            let other = OtherDaemon.find(environment: environment)?.sentence
            throw CommandFailure(
                "--files needs the mount, and \(other ?? "nothing is mounted: passdir mount")")
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
