import Glibc
import OpenPGP
import Settings
import Stores
import Sync
import System
public import SystemPackage

/// A folder that is to become a password store.
public struct Initialization: Sendable {
    /// Its absolute path.
    public var folder: FilePath
    /// The lines of its `.gpg-id`.
    public var lines: [String]
    /// Whether none of the keys is one whose secret part is here.
    public var locksOut: Bool
    let store: Store
}

extension Sharing {
    /// Works out what making a folder a password store means; changes nothing.
    /// - Parameters:
    ///   - folder: what `Registry.placeForNew` found nothing to say against.
    ///   - keyring: the GnuPG home of the store; nil is that of GNUPGHOME.
    ///   - recipients: as in `.gpg-id`; none takes the only secret key that can be encrypted to.
    public func planInitialization(
        of folder: FilePath, name: String, keyring: FilePath?, recipients: [String]
    ) throws(DaemonError) -> Initialization {
        do {
            var definition = StoreDefinition(
                name: name, path: folder, identifier: "path:\(folder)", isImplicit: true)
            definition.keyring = keyring
            let store = try opener.store(opener.settings(of: definition), in: Root(path: folder))
            guard try store.root.statusIfPresent(of: Self.newList) == nil else {
                throw DaemonError(message: "\(folder) already has a .gpg-id: omit --init")
            }
            var lines: [String] = []
            for wanted in recipients.isEmpty ? [try onlyOwnKey(store)] : recipients {
                let line = try store.line(for: wanted)
                if !lines.contains(line) { lines.append(line) }
            }
            return Initialization(
                folder: folder, lines: lines, locksOut: try store.locksOut(lines), store: store)
        } catch {
            throw Self.failure(error, folder)
        }
    }

    /// Makes a folder a password store, as `pass init` does: writes the `.gpg-id` at its top, and commits that where the
    /// folder has a repository of its own. Nothing that lies there is re-encrypted.
    /// - Parameter isLockedOut: whether the user has agreed to be able to read nothing of it.
    public func initialize(_ plan: Initialization, isLockedOut: Bool) throws(DaemonError) {
        let (store, file) = (plan.store, Self.newList)
        do {
            guard !plan.locksOut || isLockedOut else {
                throw DaemonError(
                    message:
                        "none of these keys is yours, so you could not read what is in \(store.name): name one "
                        + "of yours, or pass --lock-me-out.")
            }
            try store.writeNewFile(RecipientFile(lines: plan.lines).bytes, as: file)
            let committer = Committer(
                store: store,
                options: Committer.Options(
                    delay: .zero, pushTimeout: .seconds(60), program: "/proc/self/exe"),
                log: StoreOpener.quietLog)
            let message = "Set GPG id to \(plan.lines.joined(separator: ", ")).\n"
            do throws(StoreError) {
                try Self.wait { () throws(CommitError) in
                    try await committer.commit(paths: [file], message: message)
                }
            } catch {
                try? store.root.unlink(file)
                throw DaemonError(message: error.message)
            }
        } catch {
            throw Self.failure(error, plan.folder)
        }
    }

    private static var newList: FilePath { FilePath(root: nil, components: Store.recipientFileName) }

    private static func failure(_ error: any Error, _ folder: FilePath) -> DaemonError {
        switch error {
        case let error as DaemonError: error
        case is any SentenceError: DaemonError(wrapping: error)
        default: DaemonError(message: "cannot make \(folder) a password store: \(error)")
        }
    }

    /// The fingerprint of the only secret key that can be encrypted to.
    private func onlyOwnKey(_ store: Store) throws -> String {
        let now = Int64(time(nil))
        let usable = try store.engine.keys(matching: [], secretOnly: true).filter { key in
            let resolved = (try? store.engine.resolve(key.fingerprint.description)) ?? []
            return !resolved.isEmpty
                && resolved.allSatisfy { $0.objection(at: now, trust: store.options.trust) == nil }
        }
        guard let only = usable.first, usable.count == 1 else {
            let count = usable.isEmpty ? "no secret key" : "\(usable.count) secret keys"
            throw DaemonError(
                message:
                    "there \(usable.count > 1 ? "are" : "is") \(count) to encrypt to: name the recipients "
                    + "with --recipient")
        }
        return only.fingerprint.description
    }
}
