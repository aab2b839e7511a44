import ArgumentParser
import Daemon
import Glibc
import Stores
import System
import SystemPackage

/// `passdir grep`: what is in secrets.
struct GrepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grep",
        abstract: "Search the text of all secrets with grep.",
        discussion: """
            Decrypts every secret in the mount's stores and prints the lines that match, below the name of each. All \
            arguments go to grep(1), which reads from a pipe. The access rules apply to each secret; one that may not be \
            read is named on standard error. The exit status is 1 if nothing is found.

            Example: passdir grep -i 'user: ann'
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "Options of grep, and the pattern.")
    var words: [String] = []

    func run() throws {
        if words.isEmpty { throw ValidationError("name a pattern") }
        if words == ["--help"] || words == ["-h"] { throw CleanExit.helpRequest(self) }
        let isColoured = isatty(STDOUT_FILENO) == 1
        let grep = SecretGrep(
            (isColoured ? ["--color=always"] : []) + words, environment: CallerEnvironment.variables())
        var isWhole = true
        let isFound = try PromptInterruption.during { cancellation in
            try grep.run(cancellation: cancellation) { event in
                switch event {
                case .found(let name): Output.print("\(name):")
                case .output(let bytes): Output.write(secretPiece: bytes)
                case .complaint(let sentence):
                    isWhole = false
                    StandardError.print("passdir: \(sentence)")
                }
            }
        }
        guard isFound, isWhole else { throw ExitCode.failure }
    }
}
