import SystemPackage

/// The section of one store in the configuration file, `[store "NAME"]`, as it stands there.
public struct StoreSection: Sendable, Equatable {
    /// A key and its text.
    public struct Item: Sendable, Equatable {
        /// The key as written.
        public var key: String
        /// The text.
        public var value: String
        /// The line it stands on, counted from 1.
        public var line: Int
    }

    /// The store's name.
    public var name: String
    /// The configuration file.
    public var file: FilePath
    /// The line of the section's header, counted from 1.
    public var line: Int
    /// Its keys in the order of the file.
    public var values: [Item]

    /// The text of a key, compared without case; the last one counts.
    public func text(_ key: String) -> Item? {
        values.last { $0.key.lowercased() == key.lowercased() }
    }

    /// What this section says of a setting: one of the store's own, or one that a store may override; nil when it says
    /// nothing.
    /// - Throws: `.value` with file, line and what is allowed.
    public func value<V>(_ setting: Setting<V>) throws(SettingsError) -> V? {
        guard let key = setting.place == .store ? setting.name : setting.storeKey, let item = text(key) else {
            return nil
        }
        guard let value = setting.parse(item.value) else {
            throw .notAllowed(
                "store.\(name).\(item.key)", item.value, setting.allowed, file: file, line: item.line)
        }
        return value
    }
}
