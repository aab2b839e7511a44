public import Settings

/// A secret as a command is told of it: `store/path`, or `id:path`, which survives another name of the store.
public struct SecretReference: Sendable, Equatable {
    /// The store.
    public var store: StoreDefinition
    /// The path in the store as the mount shows it; empty for the store itself.
    public var path: String

    /// Finds the store that a reference means.
    /// - Throws: `.noStore`; `.name` for a path with `.` or `..` in it.
    public init(_ text: String, in registry: Registry) throws(SettingsError) {
        let all = try registry.definitions()
        if let colon = text.firstIndex(of: ":"),
            let found = all.first(where: { $0.id == text[..<colon].lowercased() })
        {
            store = found
            path = String(text[text.index(after: colon)...])
        } else {
            let name = text.prefix { $0 != "/" }
            store = try registry.definition(named: String(name))
            path = String(text[name.endIndex...].drop { $0 == "/" })
        }
        while path.hasSuffix("/") { path.removeLast() }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard path.isEmpty || !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw SettingsError(code: .name, message: "\"\(text)\" does not name a secret")
        }
    }

    /// `id:path`; `store/path` where the store has no id yet.
    public var identifier: String { store.id.map { "\($0):\(path)" } ?? name }

    /// `store/path`.
    public var name: String { path.isEmpty ? store.name : "\(store.name)/\(path)" }

    /// Whether an argument can only be a path: it begins with `/`, `./` or `../`. Any other that begins with the name of a
    /// store means that store, whatever the folder holds that the command runs in: others choose the names in there.
    public static func isPath(_ text: String) -> Bool {
        guard let first = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).first
        else {
            return false
        }
        return first.isEmpty || first == "." || first == ".."
    }

    /// `ID:path` as `store/path`, with the name that the store has now; anything else as it is. For commands that read
    /// `store/path` themselves.
    public static func expanded(_ text: String, stores: [(id: String, name: String)]) -> String {
        guard let colon = text.firstIndex(of: ":"),
            let store = stores.first(where: { $0.id == text[..<colon].lowercased() })
        else { return text }
        let path = text[text.index(after: colon)...].drop { $0 == "/" }
        return path.isEmpty ? store.name : "\(store.name)/\(path)"
    }
}
