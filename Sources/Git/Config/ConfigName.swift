/// A variable's name in its parts: the section ends at the first dot, the key starts after the last.
struct ConfigName {
    var section: String
    var subsection: String?
    var key: String

    init?(_ name: String) {
        guard let first = name.firstIndex(of: "."), let last = name.lastIndex(of: ".") else { return nil }
        section = name[..<first].lowercased()
        subsection = first == last ? nil : String(name[name.index(after: first)..<last])
        key = String(name[name.index(after: last)...])
    }

    /// Whether two names mean one variable.
    static func areSame(_ one: String, _ other: String) -> Bool {
        guard let one = ConfigName(one), let other = ConfigName(other) else { return false }
        return one.section == other.section && one.subsection == other.subsection
            && one.key.lowercased() == other.key.lowercased()
    }

    func matches(_ entry: ConfigFile.Entry) -> Bool {
        section == entry.section && subsection == entry.subsection
            && key.lowercased() == entry.key.lowercased()
    }
}
