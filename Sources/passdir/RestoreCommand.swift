import ArgumentParser
import Daemon
import Stores
import Sync
import SystemPackage

/// `passdir restore`: an older content of a secret, as a new change.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put the content back that a secret had at an earlier commit.",
        discussion: """
            The content is encrypted to today's recipients and committed as a change of its own; nothing is taken out \
            of the history. 'passdir log STORE/PATH' shows the commits. A secret that was removed comes back. What \
            the secret holds now is committed first; a version that is saved at the same moment is kept beside it as \
            a conflict file.
            """
    )

    @Argument(help: "The secret: STORE/PATH, or a path in the mount.")
    var path: String

    @Option(help: ArgumentHelp("The commit: an id from 'passdir log', a branch, HEAD~3.", valueName: "rev"))
    var at: String

    func run() throws {
        let access = try StoreAccess.open(
            path, for: .writing, environment: CallerEnvironment.variables())
        guard !access.path.isEmpty else {
            throw CommandFailure("\(path) is a store; name a secret in it")
        }
        let history = try StoreHistory(access.store)
        let secret = access.backingPath
        let plaintext = try history.plaintext(of: secret, at: at)
        // Whatever lies there now must be in the history before it gives way.
        try access.commit([.saved(secret)], pushing: false)
        let changes = try history.put(plaintext, at: secret)
        for case .saved(let other) in changes where other != secret {
            StandardError.print(
                "passdir: the version that was saved meanwhile is kept as \(access.store.name)/"
                    + access.store.visiblePath(of: other).string)
        }
        try access.commit(changes)
    }
}
