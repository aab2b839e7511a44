import ArgumentParser
import Daemon
import Glibc

/// `passdir unlock`: asks for passphrases where it is typed.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Ask for the passphrases that a store needs, in this terminal.",
        discussion: """
            A program that reads a secret cannot ask; gpg-agent does, in the terminal that passdir was mounted in. That may be \
            another one by now, or closed. After 'passdir unlock' gpg-agent knows the passphrases of the store's keys, as \
            long as its settings say, and reading goes on.

            Example: passdir unlock work
            """
    )

    @Argument(help: "The store; all of them if none is named.", completion: StoreContext.completion)
    var store: String?

    func run() throws {
        if let terminal = Terminal.path { setenv("GPG_TTY", terminal, 1) }
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        for name in store.map({ [$0] }) ?? sharing.storeNames {
            guard try sharing.unlock(store: name) == 0, store != nil else { continue }
            throw CommandFailure("the store \"\(name)\" has no secret that a key of yours decrypts")
        }
    }
}
