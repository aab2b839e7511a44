import Stores
import System
import SystemPackage

/// Public keys that a store brings along in its `.public-keys`.
public struct OfferedKeys: Sendable {
    /// What they are.
    public let keys: [KeyPreview]
    /// The files that hold them, for `importKeys`.
    public let files: [[UInt8]]
}

extension Sharing {
    /// What the `.gpg-id` files of a store name that means no key of its keyring, or several.
    public func missingKeys(ofStore name: String) throws(DaemonError) -> [String] {
        try keys(ofStore: name).filter { $0.state == .missing }.map(\.id)
    }

    /// The keys that a store brings along; nil where there is none that its keyring does not have.
    /// - Throws: also where there is something else than public keys among them.
    public func offeredKeys(ofStore name: String) throws(DaemonError) -> OfferedKeys? {
        guard let files = try publicKeysIfPresent(ofStore: name), !files.isEmpty else { return nil }
        let keys = try preview(files, for: name)
        return keys.contains { !$0.isKnown } ? OfferedKeys(keys: keys, files: files) : nil
    }

    /// The keys in the `.public-keys` of a store: a file, or a folder of files, one or more keys in each.
    /// - Throws: also where it has none.
    public func publicKeys(ofStore name: String) throws(DaemonError) -> [[UInt8]] {
        guard let files = try publicKeysIfPresent(ofStore: name) else {
            throw DaemonError(message: "the store \"\(name)\" has no .public-keys to import from")
        }
        return files
    }

    /// As `publicKeys(ofStore:)`; nil where it has none.
    func publicKeysIfPresent(ofStore name: String) throws(DaemonError) -> [[UInt8]]? {
        let store = try store(named: name, for: .reading)
        let place = Store.publicKeysName
        do {
            switch try store.root.statusIfPresent(of: place)?.kind {
            case .regular?: return [try store.read(place, limit: 1 << 24)]
            case .directory?:
                return try store.root.entries(of: place).filter { $0.kind == .regular }
                    .sorted { $0.name.string < $1.name.string }
                    .map { try store.read(place.appending($0.name), limit: 1 << 24) }
            default: return nil
            }
        } catch {
            throw DaemonError(message: "cannot read .public-keys of the store \"\(name)\": \(error)")
        }
    }
}
