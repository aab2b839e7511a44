/// A setting, declared once, in `Catalogue`: its name, type, default and all that a user or a page of documentation
/// wants to know of it.
@dynamicMemberLookup
public struct Setting<Value: Sendable>: Sendable {
    /// All of it that does not depend on the type of its values.
    public let untyped: AnySetting
    /// What holds while the file says nothing.
    public let `default`: Value
    /// The value that a text stands for; nil when the text isn't allowed.
    public let parse: @Sendable (String) -> Value?
    /// The text that stands for a value; `parse` reads it back.
    public let format: @Sendable (Value) -> String

    /// A setting kept in the configuration file, not secret.
    public init(
        _ name: String, default: Value, description: String, owner: SettingOwner, kind: SettingKind<Value>,
        storeKey: String? = nil, place: SettingPlace = .configuration, protection: SettingProtection = .none,
        isPlaced: Bool = false
    ) {
        self.default = `default`
        self.parse = kind.parse
        self.format = kind.format
        untyped = AnySetting(
            name: name, description: description, place: place, protection: protection, owner: owner,
            allowed: kind.allowed, storeKey: storeKey, isPlaced: isPlaced, type: kind.type,
            defaultText: kind.format(`default`), accepts: { kind.parse($0) != nil },
            formatted: { kind.parse($0).map(kind.format) })
    }

    /// What `untyped` says.
    public subscript<Part>(dynamicMember part: KeyPath<AnySetting, Part>) -> Part { untyped[keyPath: part] }
}

/// A setting of any type, for lists and checks.
public struct AnySetting: Sendable {
    /// `section.key`, as git-config(1) writes it; for a key of a store the key alone (`path`).
    public let name: String
    /// One line: what it is for, with its unit.
    public let description: String
    /// Where the value is kept.
    public let place: SettingPlace
    /// How the value is to be protected.
    public let protection: SettingProtection
    /// The part that reads it.
    public let owner: SettingOwner
    /// A sentence's rest that says what is allowed: "a time, such as 2 s or 500 ms".
    public let allowed: String
    /// The key by which a store overrides it (`store.NAME.KEY`); nil where it holds for all stores alike.
    public let storeKey: String?
    /// Whether a section of a place may have it, such as `[generate "work/bank"]` (`PlacedSections`).
    public let isPlaced: Bool
    /// What its values are: a time, a size, a path.
    public let type: String
    /// The default as text.
    public let defaultText: String
    /// Whether a text is allowed.
    public let accepts: @Sendable (String) -> Bool
    /// The usual way of writing what a text stands for; nil where the text is not allowed.
    let formatted: @Sendable (String) -> String?
}

/// Where a setting is kept.
public enum SettingPlace: String, Sendable, CaseIterable {
    /// The configuration file, made to be edited by hand.
    case configuration
    /// The section of a store in the configuration file.
    case store
}

/// How a value is to be protected.
public enum SettingProtection: String, Sendable, CaseIterable {
    /// Anyone who may read the file may know it.
    case none
    /// It may hold a user name or a host: not for bug reports.
    case personal
    /// Secrets of the store, encrypted to its recipients.
    case ciphertext
    /// Nobody but the user may ever see it: it lies encrypted, or in a keyring.
    case secret
}

/// The part of the product that a setting belongs to.
public enum SettingOwner: String, Sendable, CaseIterable {
    case daemon, mount, stores, sync, access
}
