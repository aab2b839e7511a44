import Glibc
import OpenPGP
import Settings
import Stores
import Sync
public import SystemPackage

extension Sharing {
    /// Makes a folder a password store, as `pass init` does: writes the `.gpg-id` at its top, and commits that where the
    /// folder has a repository of its own. Nothing that lies there is encrypted anew.
    /// - Parameters:
    ///   - folder: what `Registry.placeForNew` found nothing to say against.
    ///   - keyring: the GnuPG home of the store; nil is that of GNUPGHOME.
    ///   - recipients: as in `.gpg-id`; none takes the only secret key that can be encrypted to.
    /// - Returns: the lines of the file.
    public func initialize(
        _ folder: FilePath, name: String, keyring: FilePath?, recipients: [String]
    ) throws(DaemonError) -> [String] {
        do {
            let options = try Store.Options(configuration, store: name, environment: environment)
            let store = Store(
                name: name, identifier: "path:\(folder)", root: try Root(path: folder),
                engine: try keyring.map { (home) throws(OpenPGPError) in
                    try GnuPG(home: home, encryption: engine.encryption)
                } ?? engine, options: options, learned: nil)
            let file: FilePath = ".gpg-id"
            guard try store.root.statusIfPresent(of: file) == nil else {
                throw DaemonError(message: "there is a .gpg-id in \(folder) already: leave out --init")
            }
            var lines: [String] = []
            for wanted in recipients.isEmpty ? [try onlyOwnKey(store)] : recipients {
                let line = try store.line(for: wanted)
                if !lines.contains(line) { lines.append(line) }
            }
            try store.writeNewFile(RecipientFile(lines: lines).bytes, as: file)
            let committer = Committer(
                store: store,
                options: Committer.Options(
                    delay: .zero, pushTimeout: .seconds(60), program: "/proc/self/exe"),
                log: Self.quietLog)
            let message = "Set GPG id to \(lines.joined(separator: ", ")).\n"
            do throws(StoreError) {
                try Self.wait { () throws(CommitError) in
                    try await committer.commit(paths: [file], message: message)
                }
            } catch {
                try? store.root.unlink(file)
                throw DaemonError(message: error.message)
            }
            return lines
        } catch let error as DaemonError {
            throw error
        } catch let error as StoreError {
            throw DaemonError(message: error.message)
        } catch let error as OpenPGPError {
            throw DaemonError(message: error.message)
        } catch let error as SettingsError {
            throw DaemonError(error)
        } catch {
            throw DaemonError(message: "\(folder) cannot be made a password store: \(error)")
        }
    }

    /// The fingerprint of the only secret key that can be encrypted to.
    private func onlyOwnKey(_ store: Store) throws -> String {
        let now = Int64(time(nil))
        let usable = try store.engine.keys(matching: [], secretOnly: true).filter { key in
            let resolved = (try? store.engine.resolve(key.fingerprint.description)) ?? []
            return !resolved.isEmpty
                && resolved.allSatisfy { GnuPG.objection(to: $0, at: now, trust: store.options.trust) == nil }
        }
        guard let only = usable.first, usable.count == 1 else {
            let count = usable.isEmpty ? "no secret key" : "\(usable.count) secret keys"
            throw DaemonError(
                message: "there \(usable.count > 1 ? "are" : "is") \(count) that can be encrypted to: "
                    + "name the recipients with --recipient")
        }
        return only.fingerprint.description
    }
}
