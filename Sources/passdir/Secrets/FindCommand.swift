import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// `passdir find`: names, as `pass find` looks for them.
struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "List the secrets whose name or folder has one of the words.",
        discussion: """
            Case is ignored, and * and ? stand for what they do in a shell. Nothing is decrypted. 'passdir search' wants all \
            words and puts the best match first. The exit status is 1 if nothing is found.

            Example: passdir find imap smtp
            """
    )

    @OptionGroup var query: NameQuery

    func run() throws {
        let glob = NameGlob(query.words)
        let (stores, isWhole) = try query.scope.stores(try StoreContext().registry)
        let found = stores.flatMap { store in
            NameScope.secrets(of: store).filter(glob.matches).map { (store: store, path: $0) }
        }
        NameOutput.print(found, json: query.json)
        guard !found.isEmpty, isWhole else { throw ExitCode.failure }
    }
}
