import Git
import Synchronization
import SystemPackage

/// The configuration file: general settings and a section for each store.
///
///     [commit]
///         delay = 5s
///     [store "work"]
///         path = ~/.password-store
///         id = 0b1e29f4-2f4f-4f0e-9a55-6a4f2d1f3c7b
///
/// What is read is a snapshot, taken at `init`, by `reload` and after each change made here.
public final class Configuration: Sendable {
    /// The file.
    public let file: FilePath
    private let state: Mutex<[ConfigFile.Entry]>
    private let headers: Mutex<[ConfigFile.Section]>

    /// `$XDG_CONFIG_HOME/passdir/config`, or `~/.config/passdir/config`.
    public static func defaultPath(environment: [String: String]) -> FilePath {
        Directories.base("XDG_CONFIG_HOME", ".config", environment).appending("passdir").appending("config")
    }

    /// Reads the file; while it is absent, every setting has its default.
    /// - Throws: `.syntax` and `.unknown` with the line, `.access`.
    public init(file: FilePath) throws(SettingsError) {
        self.file = file
        let read = try Configuration.read(file)
        state = Mutex(read.entries)
        headers = Mutex(read.sections)
        try Configuration.checkNames(read)
    }

    /// Reads the file again.
    /// - Throws: as `init`; the values then stay what they were.
    public func reload() throws(SettingsError) {
        let read = try Configuration.read(file)
        try Configuration.checkNames(read)
        state.withLock { $0 = read.entries }
        headers.withLock { $0 = read.sections }
    }

    /// The value of a general setting.
    /// - Throws: `.value` with file, line and what is allowed.
    public func value<V>(_ setting: Setting<V>) throws(SettingsError) -> V {
        let entry = state.withLock { entries in
            entries.last { $0.name.lowercased() == setting.name.lowercased() }
        }
        guard let entry else { return setting.default }
        guard let value = setting.parse(entry.value ?? "") else {
            throw SettingsError.notAllowed(
                setting.name, entry.value, setting.allowed, file: file, line: entry.line)
        }
        return value
    }

    /// The value of a setting for one store: its own where it has one, else the general one.
    public func value<V>(_ setting: Setting<V>, store: String) throws(SettingsError) -> V {
        if let section = try stores().first(where: { $0.name == store }),
            let own = try section.value(setting)
        {
            return own
        }
        return setting.place == .store ? setting.default : try value(setting)
    }

    /// The stores, in the order of the file; sections of the same name are one store.
    public func stores() throws(SettingsError) -> [StoreSection] {
        let (entries, headers) = (state.withLock { $0 }, headers.withLock { $0 })
        var found: [StoreSection] = []
        for header in headers where header.name == "store" {
            guard let name = header.subsection, !found.contains(where: { $0.name == name }) else { continue }
            let values = entries.filter { $0.section == "store" && $0.subsection == name }
            found.append(
                StoreSection(
                    name: name, file: file, line: header.line,
                    values: values.map {
                        StoreSection.Item(key: $0.key, value: $0.value ?? "", line: $0.line)
                    }))
        }
        return found
    }

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

    /// Sets one key of a store.
    /// - Throws: `.noStore` and as `addStore`.
    public func setStore(name: String, key: String, value: String) throws(SettingsError) {
        guard let setting = Catalogue.storeSetting(key: key) else {
            throw SettingsError(code: .unknown, message: "a store has no setting '\(key)'")
        }
        guard setting.accepts(value) else { throw .notAllowed(key, value, setting.allowed) }
        try edit { file throws(SettingsError) in
            guard file.subsections(of: "store").contains(name) else { throw .noStore(name) }
            return [.set("store.\(name).\(key)", value)]
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

    /// Reads the file anew, so that nothing another process wrote meanwhile is judged by old knowledge, and edits it.
    private func edit(
        _ edits: (ConfigFile) throws(SettingsError) -> [ConfigFile.Edit]
    ) throws(SettingsError) {
        let read = try Configuration.read(file)
        let wanted = try edits(read)
        if !wanted.isEmpty {
            do {
                try read.edit(wanted)
            } catch {
                throw SettingsError(error)
            }
        }
        state.withLock { $0 = read.entries }
        headers.withLock { $0 = read.sections }
    }

    private static func read(_ file: FilePath) throws(SettingsError) -> ConfigFile {
        do {
            return try ConfigFile(file)
        } catch {
            throw SettingsError(error)
        }
    }

    private static func checkNames(_ read: ConfigFile) throws(SettingsError) {
        for entry in read.entries {
            let known =
                entry.section == "store" && entry.subsection != nil
                ? Catalogue.storeSetting(key: entry.key) : Catalogue.setting(named: entry.name)
            guard known == nil else { continue }
            throw SettingsError(
                code: .unknown, message: "'\(entry.name)' is not a setting", file: read.path, line: entry.line
            )
        }
        let sections = Set(Catalogue.all.compactMap { $0.name.split(separator: ".").first.map(String.init) })
        for header in read.sections {
            let known = header.name == "store" ? header.subsection != nil : sections.contains(header.name)
            guard !known else { continue }
            throw SettingsError(
                code: .unknown, message: "there is no section '\(header.name)'", file: read.path,
                line: header.line)
        }
    }
}

extension SettingsError {
    static func notAllowed(
        _ name: String, _ value: String?, _ allowed: String, file: FilePath? = nil, line: Int? = nil
    ) -> SettingsError {
        SettingsError(
            code: .value, message: "\(name) cannot be '\(value ?? "")': it must be \(allowed)", file: file,
            line: line)
    }

    static func noStore(_ name: String) -> SettingsError {
        SettingsError(code: .noStore, message: "there is no store '\(name)' in the configuration")
    }
}
