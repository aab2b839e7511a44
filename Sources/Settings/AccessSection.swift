import Git
public import SystemPackage

/// The rules of one place in the configuration file, `[access "STORE/PATH"]`, as they stand there.
public struct AccessSection: Sendable, Equatable {
    /// A rule: what happens, and the words that say to whom.
    public struct Item: Sendable, Equatable {
        /// `allow`, `ask` or `deny`.
        public var key: String
        /// The words behind it.
        public var value: String
        /// The line it stands on, counted from 1; 0 for one that is in no file yet.
        public var line: Int

        /// A rule of these parts.
        public init(key: String, value: String, line: Int = 0) {
            (self.key, self.value, self.line) = (key, value, line)
        }
    }

    /// The store, folder or secret, as it was written.
    public var place: String
    /// The configuration file.
    public var file: FilePath
    /// The line of the section's header, counted from 1.
    public var line: Int
    /// The rules, in the order of the file.
    public var rules: [Item]

    /// A section of these parts.
    public init(place: String, file: FilePath, line: Int, rules: [Item]) {
        (self.place, self.file, self.line, self.rules) = (place, file, line, rules)
    }

    static let name = "access"
    /// What a rule can say.
    public static let keys = ["allow", "ask", "deny"]

    /// Whether a line of the file is one of these sections'.
    static func holds(_ entry: ConfigFile.Entry) -> Bool {
        entry.section == name && entry.subsection != nil
    }

    static func objection(to entry: ConfigFile.Entry) -> String? {
        keys.contains(entry.key.lowercased())
            ? nil : "'\(entry.key)' is not an access rule: write allow, ask or deny"
    }
}

extension Configuration {
    /// Has a place these rules, in this order, and no others; without any its section goes, with the comments in it.
    /// - Parameter change: gets the rules that the file has now.
    /// - Throws: `.locked`, `.access`, and what `change` throws.
    public func changeAccess(
        of place: String,
        _ change: ([AccessSection.Item]) throws(SettingsError) -> [AccessSection.Item]
    ) throws(SettingsError) {
        try edit { file throws(SettingsError) in
            let known = file.entries.filter { AccessSection.holds($0) && $0.subsection == place }
                .map { AccessSection.Item(key: $0.key.lowercased(), value: $0.value ?? "", line: $0.line) }
            let wanted = try change(known)
            guard !wanted.isEmpty else {
                return [.removeSection(AccessSection.name, subsection: place)]
            }
            return [
                .setValues(
                    AccessSection.name, subsection: place, wanted.map { ConfigFile.Value($0.key, $0.value) })
            ]
        }
    }
}
