import Git
import Synchronization
import System
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
    private let state: Mutex<State>

    private struct State {
        var entries: [ConfigFile.Entry]
        var sections: [ConfigFile.Section]

        init(_ read: ConfigFile) { (entries, sections) = (read.entries, read.sections) }

        func last(_ name: String) -> ConfigFile.Entry? {
            entries.last { $0.name.lowercased() == name.lowercased() }
        }
    }

    /// `$XDG_CONFIG_HOME/passdir/config`, or `~/.config/passdir/config`.
    public static func defaultPath(environment: [String: String]) -> FilePath {
        Directories(environment: environment).config.appending("config")
    }

    /// Reads the file; while it is absent, every setting has its default.
    /// - Throws: `.syntax` and `.unknown` with the line, `.access`.
    public init(file: FilePath) throws(SettingsError) {
        self.file = file
        let read = try Configuration.read(file)
        state = Mutex(State(read))
        try Configuration.checkNames(read)
    }

    /// Reads the file again.
    /// - Throws: as `init`; the values then stay what they were.
    public func reload() throws(SettingsError) { _ = try reload { true } }

    /// Reads the file again.
    /// - Parameter isStill: asked when it is read, whether that counts.
    /// - Returns: whether it did; the values stay what they were where not.
    /// - Throws: as `init`; the values then stay what they were.
    public func reload(while isStill: () -> Bool) throws(SettingsError) -> Bool {
        let read = try Configuration.read(file)
        try Configuration.checkNames(read)
        guard isStill() else { return false }
        state.withLock { $0 = State(read) }
        return true
    }

    /// The value of a general setting.
    /// - Throws: `.value` with file, line and what is allowed.
    public func value<V>(_ setting: Setting<V>) throws(SettingsError) -> V {
        guard let entry = state.withLock({ $0.last(setting.name) }) else { return setting.default }
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

    /// The text of a general setting as it stands in the file; nil while its default holds.
    func text(of name: String) -> String? {
        state.withLock { $0.last(name)?.value }
    }

    /// The line on which a general setting stands; nil while its default holds.
    public func line(of name: String) -> Int? {
        state.withLock { $0.last(name)?.line }
    }

    /// Looks at every value of the file.
    /// - Throws: `.value` with file, line and what is allowed, for the first value that its setting does not allow.
    public func validate() throws(SettingsError) {
        for entry in state.withLock({ $0.entries }) {
            let setting = Self.setting(of: entry)
            // A bare name is git's way to say true.
            let text = entry.value ?? (setting?.accepts("true") == true ? "true" : "")
            guard let setting, !setting.accepts(text) else { continue }
            throw .notAllowed(entry.name, entry.value, setting.allowed, file: file, line: entry.line)
        }
    }

    /// The stores, in the order of the file; sections of the same name are one store.
    public func stores() throws(SettingsError) -> [StoreSection] {
        let state = state.withLock { $0 }
        var found: [StoreSection] = []
        for header in state.sections where header.name == "store" {
            guard let name = header.subsection, !found.contains(where: { $0.name == name }) else { continue }
            let values = state.entries.filter { $0.section == "store" && $0.subsection == name }
            found.append(
                StoreSection(
                    name: name, file: file, line: header.line,
                    values: values.map {
                        StoreSection.Item(key: $0.key, value: $0.value ?? "", line: $0.line)
                    }))
        }
        return found
    }

    /// What is written of who may read, by place, in the order of the file; sections of the same place are one. Part Access
    /// knows what it means.
    public var accessSections: [AccessSection] {
        let state = state.withLock { $0 }
        var found: [AccessSection] = []
        for header in state.sections where header.name == AccessSection.name {
            guard let place = header.subsection, !found.contains(where: { $0.place == place }) else {
                continue
            }
            let values = state.entries.filter { AccessSection.holds($0) && $0.subsection == place }
            found.append(
                AccessSection(
                    place: place, file: file, line: header.line,
                    rules: values.map {
                        AccessSection.Item(key: $0.key.lowercased(), value: $0.value ?? "", line: $0.line)
                    }))
        }
        return found
    }

    /// The templates that are registered, in the order of the file; sections of the same name are one.
    public var templateSections: [TemplateSection] {
        let state = state.withLock { $0 }
        var found: [TemplateSection] = []
        for header in state.sections where header.name == TemplateSection.section {
            guard let name = header.subsection, !found.contains(where: { $0.name == name }) else { continue }
            let values = state.entries.filter { TemplateSection.holds($0) && $0.subsection == name }
            func text(_ key: String) -> String? { values.last { $0.key.lowercased() == key }?.value }
            found.append(
                TemplateSection(
                    name: name, template: text("file") ?? "", kind: text("for"), file: file, line: header.line
                ))
        }
        return found
    }

    /// All of the file.
    var entries: [ConfigFile.Entry] { state.withLock { $0.entries } }

    /// Reads the file anew, so that nothing another process wrote meanwhile is judged by old knowledge, and edits it.
    func edit(
        _ edits: (ConfigFile) throws(SettingsError) -> [ConfigFile.Edit]
    ) throws(SettingsError) {
        let read = try Configuration.read(file)
        let wanted = try edits(read)
        if !wanted.isEmpty { try rethrowing(read.edit(wanted), SettingsError.init) }
        state.withLock { $0 = State(read) }
    }

    private static func read(_ file: FilePath) throws(SettingsError) -> ConfigFile {
        try rethrowing(ConfigFile(file), SettingsError.init)
    }

    private static func setting(of entry: ConfigFile.Entry) -> AnySetting? {
        guard entry.subsection != nil else { return Catalogue.setting(named: entry.name) }
        return entry.section == "store"
            ? Catalogue.storeSetting(key: entry.key) : Catalogue.placedSetting(entry.section, entry.key)
    }

    private static func checkNames(_ read: ConfigFile) throws(SettingsError) {
        for entry in read.entries {
            guard setting(of: entry) == nil else { continue }
            if AccessSection.holds(entry) {
                guard let objection = AccessSection.objection(to: entry) else { continue }
                throw SettingsError(code: .unknown, message: objection, file: read.path, line: entry.line)
            }
            if TemplateSection.holds(entry) {
                guard let objection = TemplateSection.objection(to: entry) else { continue }
                throw SettingsError(code: .unknown, message: objection, file: read.path, line: entry.line)
            }
            throw SettingsError(
                code: .unknown, message: Catalogue.unknown(entry.name), file: read.path, line: entry.line
            )
        }
        let sections = Set(Catalogue.all.compactMap { $0.name.split(separator: ".").first.map(String.init) })
        for header in read.sections {
            let known =
                header.name == "store" ? header.subsection != nil : sections.contains(header.name)
            guard !known, header.name != TemplateSection.section || header.subsection == nil else { continue }
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
