import Git
import System
import SystemPackage

/// The section of a place in the configuration file, such as `[generate "work/bank"]`, or the one for all places,
/// `[generate]`.
public struct PlacedSection: Sendable {
    /// STORE, STORE/FOLDER or STORE/FOLDER/SECRET; empty for all places.
    public let place: String
    private let file: FilePath
    private let entries: [ConfigFile.Entry]

    init(place: String, file: FilePath, entries: [ConfigFile.Entry]) {
        (self.place, self.file, self.entries) = (place, file, entries)
    }

    /// What it says of a setting; nil where it says nothing.
    /// - Throws: `.value` with file, line and what is allowed.
    public func value<V>(_ setting: Setting<V?>) throws(SettingsError) -> V? {
        let key = setting.name.split(separator: ".").last.map(String.init) ?? setting.name
        guard let entry = entries.last(where: { $0.key.lowercased() == key }) else { return nil }
        // A bare name is git's way to say true.
        guard let value = setting.parse(entry.value ?? (setting.parse("true") != nil ? "true" : "")) else {
            throw .notAllowed(entry.name, entry.value, setting.allowed, file: file, line: entry.line)
        }
        return value
    }
}

/// All sections of one name, by their places.
public struct PlacedSections: Sendable {
    private var byPlace: [String: PlacedSection] = [:]
    /// The one for all places; nil where there is none.
    public let general: PlacedSection?

    init(_ name: String, _ entries: [ConfigFile.Entry], file: FilePath) throws(SettingsError) {
        let ours = entries.filter { $0.section == name }
        let rest = ours.filter { $0.subsection == nil }
        general = rest.isEmpty ? nil : PlacedSection(place: "", file: file, entries: rest)
        for (place, entries) in Dictionary(grouping: ours.filter { $0.subsection != nil }, by: \.subsection) {
            guard let place else { continue }
            let parts = place.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map {
                String($0)
            }
            guard parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else {
                throw SettingsError(
                    code: .value,
                    message:
                        "'\(place)' of [\(name) \"\(place)\"] is not a place: write STORE, STORE/FOLDER or "
                        + "STORE/FOLDER/SECRET, without a trailing slash",
                    file: file, line: entries[0].line)
            }
            byPlace[place] = PlacedSection(place: place, file: file, entries: entries)
        }
    }

    /// The section of the longest place that holds a secret, which alone counts; nil where none does.
    /// - Parameter secret: STORE/PATH, as the mount shows it.
    public func governing(_ secret: String) -> PlacedSection? {
        guard !byPlace.isEmpty else { return nil }
        var rest = secret[...]
        while true {
            if let found = byPlace[String(rest)] { return found }
            // To `Character` a slash with a combining mark behind it is another one.
            guard let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            rest = rest[..<slash]
        }
    }
}

extension Configuration {
    /// The sections of one name, such as `generate`.
    /// - Throws: `.value` with file and line where a section's name is no place.
    public func placed(_ name: String) throws(SettingsError) -> PlacedSections {
        try PlacedSections(name, entries, file: file)
    }
}

extension Catalogue {
    /// The names of sections that may be of a place.
    static let placedSections = Set(
        all.filter(\.isPlaced).compactMap { $0.name.split(separator: ".").first.map(String.init) })

    /// The setting of an entry in a section of a place; nil where it is no such.
    static func placedSetting(_ section: String, _ key: String) -> AnySetting? {
        setting(named: "\(section).\(key)").flatMap { $0.isPlaced ? $0 : nil }
    }
}
