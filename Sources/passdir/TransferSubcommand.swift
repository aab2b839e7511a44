import ArgumentParser
import Daemon
import Glibc
import Sync

/// `passdir transfer`: what a committer starts to push and fetch, so that it can be ended when a server does not answer.
struct TransferSubcommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: TransferCommand.name, abstract: "Push or fetch for a committer; not for people.",
        shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var words: [String] = []

    func run() throws {
        ProcessProtection.harden()
        // A server that hangs up early is an error of the transfer, with its words, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        guard TransferCommand.run(words) else { throw ExitCode.failure }
    }
}
