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
            Shows the fingerprints of the server's current keys. Compare them with those that its owner published. With \
            --fingerprint, or once you say yes, they are added to ~/.ssh/known_hosts. If the host is listed there with a \
            different key, this fails; ssh-keygen -R HOST removes the old key.

            Example: passdir store trust-host ssh://git@git.example.org/team/passwords.git
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The store's name, or the URL to clone a store from.", valueName: "store|url"),
        completion: StoreContext.completion)
    var store: String

    @Option(
        help: ArgumentHelp(
            "Accept without asking if one of the keys has this fingerprint.", valueName: "SHA256:..."))
    var fingerprint: String?

    func run() throws {
        let keys = try (try? HostKeys(url: store)) ?? ofStore()
        guard !keys.isKnown else {
            throw CommandFailure(
                "\(keys.host) is already in ~/.ssh/known_hosts; if its key has changed for a good reason, "
                    + "remove the old one with ssh-keygen -R")
        }
        let (lines, fingerprints) = try keys.shown()
        Output.print(lines: fingerprints)
        if let fingerprint {
            guard fingerprints.contains(where: { $0.hasPrefix(fingerprint + " ") }) else {
                throw CommandFailure("\(keys.host) offers no key with the fingerprint \(fingerprint)")
            }
        } else {
            guard Terminal.showsOutput else {
                throw CommandFailure("no terminal to ask on; name the key with --fingerprint")
            }
            guard Terminal.line("Trust \(keys.host)? Type yes: ") == "yes" else {
                throw CommandFailure("\(keys.host) is not trusted; nothing was changed")
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
