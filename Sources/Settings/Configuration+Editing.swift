public import Git
import SystemPackage

extension Configuration {
    /// Sets a general setting (`section.key`).
    /// - Throws: `.unknown`, `.value`, `.locked`, `.access`.
    public func set(_ name: String, _ value: String) throws(SettingsError) {
        let setting = try Self.general(name)
        guard setting.accepts(value) else { throw .notAllowed(setting.name, value, setting.allowed) }
        try edit { _ in [.set(setting.name, value)] }
    }

    /// Sets a general setting to a value of its type.
    public func set<V>(_ setting: Setting<V>, to value: V) throws(SettingsError) {
        try set(setting.name, setting.format(value))
    }

    /// Takes a general setting out of the file: its default holds again. No error when it isn't there.
    public func unset(_ name: String) throws(SettingsError) {
        let setting = try Self.general(name)
        try edit { file in file.string(setting.name) == nil ? [] : [.delete(setting.name)] }
    }

    /// Adds a store, behind the others.
    /// - Parameter values: its keys and their texts (`path`, `id`, `remote`, `branch`, `commitDelay`).
    /// - Throws: `.storeExists`, `.name` for an empty name or one with a line break or NUL, `.unknown`, `.value`, `.locked`,
    ///   `.access`.
    public func addStore(name: String, values: [(key: String, value: String)]) throws(SettingsError) {
        try Self.checkName(name)
        for (key, value) in values { try Self.check(storeKey: key, value) }
        try edit { file throws(SettingsError) in
            try Self.checkIsFree(name, file)
            return values.map { .set("store.\(name).\($0.key)", $0.value) }
        }
    }

    /// Sets keys of a store; nil takes a key out of the file, so that the default holds again.
    /// - Throws: `.noStore` and as `addStore`.
    public func setStore(name: String, values: [(key: String, value: String?)]) throws(SettingsError) {
        for (key, value) in values { try Self.check(storeKey: key, value) }
        try edit { file throws(SettingsError) in
            try Self.checkIsThere(name, file)
            return values.compactMap { key, value in
                let full = "store.\(name).\(key)"
                if let value { return .set(full, value) }
                return file.string(full) == nil ? nil : .delete(full)
            }
        }
    }

    /// Sets one key of a store.
    /// - Throws: as with several.
    public func setStore(name: String, key: String, value: String) throws(SettingsError) {
        try setStore(name: name, values: [(key, value)])
    }

    /// Gives a store another name; its section stays where it is, with its comments.
    /// - Throws: `.noStore`, `.storeExists`, `.name`, `.locked`, `.access`.
    public func renameStore(name: String, to newName: String) throws(SettingsError) {
        try Self.checkName(newName)
        try edit { file throws(SettingsError) in
            try Self.checkIsThere(name, file)
            try Self.checkIsFree(newName, file)
            // Who may read its secrets goes with it, and what holds for their passwords.
            let sections = Catalogue.placedSections.union([AccessSection.name]).sorted()
            return [.renameSection("store", from: name, to: newName)]
                + sections.flatMap { section in
                    file.subsections(of: section).filter { $0 == name || $0.hasPrefix(name + "/") }.map {
                        .renameSection(section, from: $0, to: newName + $0.dropFirst(name.count))
                    }
                }
        }
    }

    /// Moves a store's section, with the comments right above it, beside that of another one.
    /// - Throws: `.noStore`, `.locked`, `.access`.
    public func moveStore(name: String, to place: ConfigPlace) throws(SettingsError) {
        try edit { file throws(SettingsError) in
            for wanted in [name, place.neighbour] { try Self.checkIsThere(wanted, file) }
            return [.moveSection("store", subsection: name, place)]
        }
    }

    /// Takes a store out of the file, with its section.
    /// - Throws: `.noStore`, `.locked`, `.access`.
    public func removeStore(name: String) throws(SettingsError) {
        try edit { file throws(SettingsError) in
            try Self.checkIsThere(name, file)
            return [.removeSection("store", subsection: name)]
        }
    }

    private static func general(_ name: String) throws(SettingsError) -> AnySetting {
        if let setting = Catalogue.setting(named: name) { return setting }
        throw SettingsError(code: .unknown, message: Catalogue.unknown(name))
    }

    /// Looks at a store's key, and at its text where it gets one.
    /// - Throws: `.unknown`, `.value`.
    public static func check(storeKey key: String, _ value: String?) throws(SettingsError) {
        guard let setting = Catalogue.storeSetting(key: key) else {
            throw SettingsError(
                code: .unknown,
                message: "a store has no setting '\(key)': it has "
                    + Catalogue.storeKeys.joined(separator: ", "))
        }
        if let value, !setting.accepts(value) { throw .notAllowed(key, value, setting.allowed) }
    }

    private static func checkName(_ name: String) throws(SettingsError) {
        guard name.isEmpty || name.utf8.contains(0) || name.utf8.contains(UInt8(ascii: "\n")) else { return }
        throw SettingsError(code: .name, message: "'\(name)' is not a valid store name")
    }

    private static func checkIsThere(_ name: String, _ file: ConfigFile) throws(SettingsError) {
        guard file.subsections(of: "store").contains(name) else { throw .noStore(name) }
    }

    private static func checkIsFree(_ name: String, _ file: ConfigFile) throws(SettingsError) {
        guard file.subsections(of: "store").contains(name) else { return }
        throw SettingsError(code: .storeExists, message: "there is already a store '\(name)'")
    }
}
