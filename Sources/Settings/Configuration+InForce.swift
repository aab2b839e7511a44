/// What a setting is for one store, and what says so.
public struct SettingInForce: Sendable, Equatable {
    /// The key by which a store's section sets it.
    public var key: String
    /// Its value as text; empty where there is none.
    public var text: String
    /// The general setting that says so (`commit.delay`); nil where the store's section does, or nothing.
    public var general: String?
    /// Whether nothing says so: it is the default.
    public var isDefault: Bool
}

extension Configuration {
    /// The general settings that a store may set for itself, as they are in force for one store.
    /// - Throws: `.value` where one is set to what is not allowed.
    public func inForce(store name: String) throws(SettingsError) -> [SettingInForce] {
        let section = try stores().first { $0.name == name }
        var found: [SettingInForce] = []
        for setting in Catalogue.all {
            guard let key = setting.storeKey else { continue }
            if let own = section?.text(key) {
                guard let text = setting.formatted(own.value) else {
                    throw .notAllowed(
                        "store.\(name).\(key)", own.value, setting.allowed, file: file, line: own.line)
                }
                found.append(SettingInForce(key: key, text: text, general: nil, isDefault: false))
            } else if let line = line(of: setting.name) {
                let written = text(of: setting.name) ?? ""
                guard let text = setting.formatted(written) else {
                    throw .notAllowed(setting.name, written, setting.allowed, file: file, line: line)
                }
                found.append(SettingInForce(key: key, text: text, general: setting.name, isDefault: false))
            } else {
                found.append(
                    SettingInForce(key: key, text: setting.defaultText, general: nil, isDefault: true))
            }
        }
        return found
    }
}
