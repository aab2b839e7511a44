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
}
