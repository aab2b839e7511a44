import ArgumentParser
import Daemon
import Glibc
import Stores

/// `passdir store trust-host`: accepts the SSH host key of a store's remote.
struct TrustHostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust-host",
        abstract: "Accept the SSH host key of a store's remote.",
        discussion: """
            Shows the fingerprints of the keys that the server shows now. Compare them with what its owner published; \
            with --fingerprint, or after you said yes, they are added to ~/.ssh/known_hosts. A host that is known \
            there with another key stays an error: ssh-keygen -R HOST takes the old key out.

            Example: passdir store trust-host ssh://git@git.example.org/team/passwords.git
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The store's name, or the URL that a store is to be cloned from.", valueName: "store|url"),
        completion: StoreContext.completion)
    var store: String

    @Option(
        help: ArgumentHelp("Accept without a question if one of the keys has this.", valueName: "SHA256:..."))
    var fingerprint: String?

    func run() throws {
        let keys = try (try? HostKeys(url: store)) ?? ofStore()
        guard !keys.isKnown else {
            throw CommandFailure(
                "\(keys.host) is in ~/.ssh/known_hosts already; if its key has changed for a good reason, take the "
                    + "old one out with ssh-keygen -R")
        }
        let (lines, fingerprints) = try keys.shown()
        Output.print(lines: fingerprints)
        if let fingerprint {
            guard fingerprints.contains(where: { $0.hasPrefix(fingerprint + " ") }) else {
                throw CommandFailure("\(keys.host) shows no key with the fingerprint \(fingerprint)")
            }
        } else {
            guard Terminal.showsOutput else {
                throw CommandFailure("there is no terminal to ask on; name the key with --fingerprint")
            }
            guard Terminal.line("Trust \(keys.host)? Type yes: ") == "yes" else {
                throw CommandFailure("\(keys.host) is not trusted. Nothing was changed.")
            }
        }
        try keys.trust(lines)
    }

    private func ofStore() throws -> HostKeys {
        let access = try StoreAccess.open(
            store, for: .reading, environment: CallerEnvironment.variables())
        return try HostKeys(of: access.store)
    }
}
