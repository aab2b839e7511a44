import ArgumentParser
import Daemon
import Glibc
import Stores

/// `passdir transfer`: what a committer starts to push and fetch, and `store add` to clone, so that it can be ended when a
/// server does not answer.
struct TransferSubcommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: TransferCommand.name, abstract: "Push, fetch or clone for passdir; not for people.",
        shouldDisplay: false)

    func run() throws {
        ProcessProtection.harden()
        // A server that hangs up early is an error of the transfer, with its words, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        guard TransferCommand.run() else { throw ExitCode.failure }
    }
}
