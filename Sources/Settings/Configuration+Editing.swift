public import Git
import SystemPackage

extension Configuration {
    /// Sets a general setting (`section.key`).
    /// - Throws: `.unknown`, `.value`, `.locked`, `.access`.
    public func set(_ name: String, _ value: String) throws(SettingsError) {
        guard let setting = Catalogue.setting(named: name) else {
            throw SettingsError(code: .unknown, message: "'\(name)' is not a setting")
        }
        guard setting.accepts(value) else { throw .notAllowed(setting.name, value, setting.allowed) }
        try edit { _ in [.set(setting.name, value)] }
    }

    /// Sets a general setting to a value of its type.
    public func set<V>(_ setting: Setting<V>, to value: V) throws(SettingsError) {
        try set(setting.name, setting.format(value))
    }

    /// Takes a general setting out of the file: its default holds again. No error when it isn't there.
    public func unset(_ name: String) throws(SettingsError) {
        guard let setting = Catalogue.setting(named: name) else {
            throw SettingsError(code: .unknown, message: "'\(name)' is not a setting")
        }
        try edit { file in file.string(setting.name) == nil ? [] : [.delete(setting.name)] }
    }

    /// Adds a store, behind the others.
    /// - Parameter values: its keys and their texts (`path`, `id`, `remote`, `branch`, `commitDelay`).
    /// - Throws: `.storeExists`, `.name` for an empty name or one with a line break or NUL, `.unknown`, `.value`, `.locked`,
    ///   `.access`.
    public func addStore(name: String, values: [(key: String, value: String)]) throws(SettingsError) {
        guard !name.isEmpty, !name.utf8.contains(0), !name.utf8.contains(UInt8(ascii: "\n")) else {
            throw SettingsError(code: .name, message: "'\(name)' cannot be the name of a store")
        }
        var edits: [ConfigFile.Edit] = []
        for (key, value) in values {
            guard let setting = Catalogue.storeSetting(key: key) else {
                throw SettingsError(code: .unknown, message: "a store has no setting '\(key)'")
            }
            guard setting.accepts(value) else { throw .notAllowed(key, value, setting.allowed) }
            edits.append(.set("store.\(name).\(key)", value))
        }
        try edit { [edits] file throws(SettingsError) in
            guard !file.subsections(of: "store").contains(name) else {
                throw SettingsError(code: .storeExists, message: "there is a store '\(name)' already")
            }
            return edits
        }
    }

    /// Sets keys of a store; nil takes a key out of the file, so that the default holds again.
    /// - Throws: `.noStore` and as `addStore`.
    public func setStore(name: String, values: [(key: String, value: String?)]) throws(SettingsError) {
        for (key, value) in values {
            guard let setting = Catalogue.storeSetting(key: key) else {
                throw SettingsError(code: .unknown, message: "a store has no setting '\(key)'")
            }
            guard let value else { continue }
            guard setting.accepts(value) else { throw .notAllowed(key, value, setting.allowed) }
        }
        try edit { file throws(SettingsError) in
            guard file.subsections(of: "store").contains(name) else { throw .noStore(name) }
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
        guard !newName.isEmpty, !newName.utf8.contains(0), !newName.utf8.contains(UInt8(ascii: "\n")) else {
            throw SettingsError(code: .name, message: "'\(newName)' cannot be the name of a store")
        }
        try edit { file throws(SettingsError) in
            let names = file.subsections(of: "store")
            guard names.contains(name) else { throw .noStore(name) }
            guard !names.contains(newName) else {
                throw SettingsError(code: .storeExists, message: "there is a store '\(newName)' already")
            }
            return [.renameSection("store", from: name, to: newName)]
        }
    }

    /// Moves a store's section, with the comments right above it, beside that of another one.
    /// - Throws: `.noStore`, `.locked`, `.access`.
    public func moveStore(name: String, to place: ConfigPlace) throws(SettingsError) {
        try edit { file throws(SettingsError) in
            let names = file.subsections(of: "store")
            for wanted in [name, place.neighbour] where !names.contains(wanted) { throw .noStore(wanted) }
            return [.moveSection("store", subsection: name, place)]
        }
    }

    /// Takes a store out of the file, with its section.
    /// - Throws: `.noStore`, `.locked`, `.access`.
    public func removeStore(name: String) throws(SettingsError) {
        try edit { file throws(SettingsError) in
            guard file.subsections(of: "store").contains(name) else { throw .noStore(name) }
            return [.removeSection("store", subsection: name)]
        }
    }
}
