import ArgumentParser
import Daemon
import Glibc

/// `passdir unlock`: asks for passphrases where it is typed.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Enter the passphrases that a store needs in this terminal.",
        discussion: """
            When a program reads a secret, gpg-agent asks for the passphrase in the program's terminal or on its display. If \
            the program has neither, gpg-agent uses the terminal where you ran 'passdir mount', which may be closed by now. \
            After 'passdir unlock', gpg-agent remembers the passphrases of the store's keys for as long as its settings \
            allow, and programs can read again.

            Example: passdir unlock work
            """
    )

    @Argument(help: "The store; all by default.", completion: StoreContext.completion)
    var store: String?

    func run() throws {
        if let terminal = Terminal.path { setenv("GPG_TTY", terminal, 1) }
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        var complaints: [String] = []
        var count = 0
        for name in store.map({ [$0] }) ?? sharing.storeNames {
            let unlocking = try sharing.unlock(store: name)
            complaints += unlocking.complaints
            guard unlocking.listCount > 0 else { continue }
            count += 1
            Output.success("\(name) is unlocked")
        }
        for complaint in complaints.dropLast() { StandardError.print("passdir: \(complaint)") }
        if let last = complaints.last { throw CommandFailure(last) }
        guard count == 0 else { return }
        throw CommandFailure(
            "\(store.map { "the store \"\($0)\" has no secret" } ?? "there is no secret") that a key of yours decrypts"
        )
    }
}
