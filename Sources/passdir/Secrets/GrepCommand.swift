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
            Decrypts every secret in the mount's stores and prints the lines that match, below the name of each. The options \
            are those of grep(1); -l prints names only, -q nothing, and -r changes nothing. The access rules apply to each \
            secret; what may not or cannot be read is named on standard error. On a terminal, locked stores are unlocked \
            first, as by 'passdir unlock'; one that you leave locked is named and not searched. The exit status is 1 if \
            nothing is found, or something could not be searched.

            Example: passdir grep -i 'user: ann'
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "Options of grep, and the pattern.")
    var words: [String] = []

    func run() throws {
        if words == ["--help"] || words == ["-h"] { throw CleanExit.helpRequest(self) }
        let grep: SecretGrep
        let environment = CallerEnvironment.variables()
        do throws(DaemonError) {
            grep = try SecretGrep(
                words, isForTerminal: isatty(STDOUT_FILENO) == 1, environment: environment)
        } catch {
            throw WrongUsage(message: error.message)
        }
        var isWhole = true
        let isFound = try LockedStore.during(
            reading: grep.storeNames(), refusal: .passesOver, environment: environment
        ) { cancellation in
            try grep.run(cancellation: cancellation) { event in
                switch event {
                case .found(let name, let hasLines): Output.print(hasLines ? "\(name):" : name)
                case .output(let text): Output.write(drawing: text)
                case .complaint(let sentence):
                    isWhole = false
                    StandardError.print("passdir: \(sentence)")
                }
            }
        }
        guard isFound, isWhole || grep.isQuiet else { throw ExitCode.failure }
    }
}
