import Glibc
import Logging
import OpenPGP
import Settings
import Stores
import Sync
import System
import SystemPackage

/// What the commands about keys and recipients do.
///
/// They work on the store themselves, beside a daemon: the terminal that they run in is where a passphrase is asked
/// for and where Ctrl-C is heard, and nothing differs when no daemon runs. A lock on the staging folder keeps two
/// changes apart; against saves, be they of the daemon, of `pass` or of an editor, which take no lock, every file is
/// swapped and then looked at (see `Reencryption`).
public struct Sharing: Sendable {
    let opener: StoreOpener
    let definitions: [StoreDefinition]
    /// The keyring of GNUPGHOME.
    let engine: any Keyring

    /// Reads the configuration and prepares GnuPG: without it nothing can be said of any recipient.
    public init(environment: [String: String]) throws(DaemonError) {
        opener = try StoreOpener(environment: environment)
        definitions = try opener.definitions()
        engine = try DaemonError.wrapping { [opener] in try opener.preparedEngine(nil) }
    }

    var environment: [String: String] { opener.environment }

    /// A folder of a store.
    struct Place: Sendable {
        var store: Store
        /// Relative to the store.
        var folder: FilePath
        /// The secret in it that was typed; nil where it was the folder.
        var secret: FilePath?

        /// How people name it: `work/mail`.
        var title: String { folder.isEmpty ? store.name : "\(store.name)/\(folder.string)" }
    }

    /// The names of all stores.
    public var storeNames: [String] { definitions.map(\.name) }

    /// Opens a store by its name.
    func store(named name: String, for use: StoreUse) throws(DaemonError) -> Store {
        let store = try opener.store(opener.definition(named: name), for: use)
        try DaemonError.wrapping { try store.recordRecipientsAtFirstSight() }
        return store
    }

    /// Notes whom a store that was just added is for: what comes later by its remote is somebody else's doing. Where
    /// that cannot be told now, it is at the first use.
    public static func noteRecipients(ofStore name: String, environment: [String: String]) {
        _ = try? Sharing(environment: environment).store(named: name, for: .reading)
    }

    /// What a user means by a path (`TypedPlace`); a file stands for its folder. Where there is one store only, its name may
    /// be left out, as for the commands that read.
    func place(_ path: String, for use: StoreUse) throws(DaemonError) -> Place {
        try TypedPlace.refuseSteppingUp(path)
        let typed: TypedPlace
        do throws(DaemonError) {
            typed = try TypedPlace(path, in: opener.registry, environment: environment)
        } catch {
            if definitions.count == 1, !TypedPlace.isPath(path),
                let place = try? place(store: definitions[0].name, FilePath(path), for: use)
            {
                return place
            }
            throw error
        }
        return try place(store: typed.store.name, typed.path, for: use)
    }

    private func place(
        store name: String, _ path: FilePath, for use: StoreUse
    ) throws(DaemonError) -> Place {
        let store = try store(named: name, for: use)
        var folder = path
        var secret: FilePath?
        let kind = (try? store.root.statusIfPresent(of: folder))?.map(\.kind) ?? nil
        if kind != .directory, !folder.isEmpty {
            let file = VisibleName.backingPath(of: folder, in: store.root)
            guard ((try? store.root.statusIfPresent(of: file)) ?? nil) != nil else {
                throw DaemonError(message: "there is no folder \(folder) in the store \"\(name)\"")
            }
            folder.removeLastComponent()
            secret = path
        }
        return Place(store: store, folder: folder, secret: secret)
    }

    /// What could not be saved because of its recipients is tried again by the daemon, where one runs, now and not only
    /// after `save.retry`. To be called when keys or agreements have changed.
    public func retrySaves() {
        try? ControlClient(socket: Daemon.controlSocket(environment: environment)).retrySaves()
    }

    /// What commits for a store in this process.
    func committer(of store: Store) throws(DaemonError) -> Committer {
        guard let definition = definitions.first(where: { $0.name == store.name }) else {
            throw DaemonError(message: "the store \"\(store.name)\" no longer exists")
        }
        var options = try opener.committing(definition)
        options.keepFact = opener.keepingFacts(of: store.identifier)
        return Committer(store: store, options: options, log: StoreOpener.quietLog)
    }
}
