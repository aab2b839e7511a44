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
        Glibc.exit(CloneChild.run())
    }
}
