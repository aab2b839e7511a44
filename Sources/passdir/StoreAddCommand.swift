import ArgumentParser
import Daemon
import SystemPackage

/// `passdir store add`: writes a store into the configuration; touches nothing of the store itself.
struct StoreAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adopt a password store that exists.",
        discussion: """
            The folder stays where it is and as it is; 'pass' and 'git' may go on using it. A mount that is \
            running shows the store after the next 'passdir mount'.
            """
    )

    @Argument(help: "The store's name: its directory under the mount point.")
    var name: String

    @Option(help: ArgumentHelp("The folder with the encrypted files.", valueName: "dir"))
    var path: String

    func run() throws {
        do throws(DaemonError) {
            try Daemon.addStore(
                name: name, path: CallerEnvironment.absolute(path), environment: CallerEnvironment.variables()
            )
        } catch {
            throw CommandFailure(error)
        }
    }
}
