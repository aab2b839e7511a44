import ArgumentParser
import Daemon
import Glibc
import Stores

/// `passdir clone-child`: what `store add` starts to clone, so that it can be ended when a server does not answer.
struct CloneChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: CloneRequest.command, abstract: "Clone for 'store add'; not for people.",
        shouldDisplay: false)

    func run() throws {
        ProcessProtection.harden()
        // A server that hangs up early is an error of the transfer, with its words, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        Glibc.exit(CloneChild.run())
    }
}
