import ArgumentParser
import Daemon
import Stores

/// `passdir lock`: has the daemon forget what was decrypted.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Forget decrypted secrets and refuse reads until you unlock.",
        discussion: """
            Wipes the decrypted secrets of the stores from memory and makes gpg-agent forget all passphrases (setting \
            lock.agent). Listing and saving still work, and nothing unsaved is lost.

            The next program that opens a secret makes you enter the passphrase, or asks whether to unlock the store if none is \
            needed; 'passdir unlock' does it beforehand. Until then, or if you refuse, reading fails with "Permission denied", \
            also in programs that have a file open. Opening fails with "Inappropriate ioctl for device" if a passphrase is \
            needed and there is no terminal or display to ask on.

            passdir can lock by itself: see the settings lock.idle, lock.screen, lock.suspend and lock.logout.

            Example: passdir lock work
            """
    )

    @Argument(
        help: "The stores to lock, by name or path; all by default.", completion: StoreContext.completion)
    var stores: [String] = []

    func run() throws {
        let environment = CallerEnvironment.variables()
        let stores = try WholeStores.names(stores, "lock", environment: environment)
        let complaint = try ControlClient(socket: Daemon.controlSocket(environment: environment)).lock(stores)
        Output.success(stores.isEmpty ? "all stores are locked" : Self.sentence(stores))
        if let complaint { throw CommandFailure(complaint) }
    }

    private static func sentence(_ stores: [String]) -> String {
        "\(stores.joined(separator: ", ")) \(stores.count == 1 ? "is" : "are") locked"
    }
}
