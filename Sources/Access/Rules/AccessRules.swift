public import Settings

/// What the rules say of a read, and which of them says it.
public struct Decision: Sendable, Equatable {
    /// What happens.
    public var outcome: AccessRule.Outcome
    /// The rule; nil where none is for the reader, so that it may read.
    public var rule: PlacedRule?
}

/// A rule and the place that it is for.
public struct PlacedRule: Sendable, Hashable {
    /// STORE, STORE/FOLDER or STORE/SECRET.
    public var place: String
    /// The rule.
    public var rule: AccessRule

    /// A rule of a place.
    public init(place: String, rule: AccessRule) { (self.place, self.rule) = (place, rule) }

    /// As people read it.
    public var text: String { "\(place): \(rule.text)" }
}

/// The rules of all places.
///
/// The rules of the longest place that holds a secret are looked at first, in their order; the first that is for the reader
/// decides. Where none is, those of the next shorter place are, and where none of these is, everybody may read.
public struct AccessRules: Sendable, Equatable {
    private var byPlace: [String: [AccessRule]] = [:]
    /// The places, in the order in which they are written.
    public private(set) var places: [String] = []

    /// No rules: everybody may read.
    public init() {}

    /// Reads what the configuration file holds.
    /// - Throws: `.value` with file and line for the first rule that is none.
    public init(_ sections: [AccessSection]) throws(SettingsError) {
        for section in sections {
            let place = try Self.place(section)
            for item in section.rules {
                do throws(RuleObjection) {
                    add(try AccessRule(key: item.key, text: item.value), at: place)
                } catch {
                    throw SettingsError(
                        code: .value,
                        message:
                            "the rule '\(item.key) \(item.value)' of \(section.place) cannot be read: \(error.message)",
                        file: section.file, line: item.line)
                }
            }
        }
    }

    /// Adds a rule behind the others of its place.
    public mutating func add(_ rule: AccessRule, at place: String) {
        if byPlace[place] == nil { places.append(place) }
        byPlace[place, default: []].append(rule)
    }

    private static func place(_ section: AccessSection) throws(SettingsError) -> String {
        let parts = section.place.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
            .map { String($0) }
        guard parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else {
            throw SettingsError(
                code: .value,
                message:
                    "'\(section.place)' is not a place: write STORE, STORE/FOLDER or STORE/FOLDER/SECRET, "
                    + "without a trailing slash",
                file: section.file, line: section.line)
        }
        return section.place
    }

    /// Whether there is none.
    public var isEmpty: Bool { byPlace.isEmpty }

    /// All rules, in the order in which they are looked at: longer places before shorter ones.
    public var inOrder: [PlacedRule] {
        places.sorted { ($0.slashCount, $1) > ($1.slashCount, $0) }
            .flatMap { place in rules(of: place).map { PlacedRule(place: place, rule: $0) } }
    }

    /// Whether a place has rules of its own.
    public func hasRules(at place: String) -> Bool { byPlace[place] != nil }

    /// The rules of one place.
    public func rules(of place: String) -> [AccessRule] { byPlace[place] ?? [] }

    /// The longest place with rules that holds a secret; nil where none does, so that everybody may read it.
    public func governing(_ secret: String) -> String? {
        guard !byPlace.isEmpty else { return nil }
        var rest = secret[...]
        while true {
            if byPlace[String(rest)] != nil { return String(rest) }
            guard let slash = rest.lastSlash else { return nil }
            rest = rest[..<slash]
        }
    }

    /// Whether other rules hold at one place than at another, or below them.
    func differ(_ place: String, _ other: String) -> Bool {
        guard !isEmpty else { return false }
        let (one, two) = (governing(place), governing(other))
        return one != two || one == place || two == other || !places(below: place).isEmpty
            || !places(below: other).isEmpty
    }

    /// What is decided for a reader, at a place and in all above it.
    /// - Parameter place: the secret, or the longest place with rules that holds it.
    public func decide(_ reader: Reader, at place: String) -> Decision {
        var next = governing(place)
        while let place = next {
            if let rule = rules(of: place).first(where: { $0.matches(reader) }) {
                return Decision(outcome: rule.outcome, rule: PlacedRule(place: place, rule: rule))
            }
            next = place[...].lastSlash.flatMap { governing(String(place[..<$0])) }
        }
        return Decision(outcome: .allow, rule: nil)
    }

    /// The places with rules below a folder.
    ///
    /// Names are the same that are canonically equivalent, as where rules are looked up.
    public func places(below folder: String) -> [String] {
        let above = folder.names
        return places.filter { place in
            let names = place.names
            return names.count > above.count && names.starts(with: above)
        }
    }
}

/// A slash parts names wherever it stands in a path; to `Character` it is another one with a combining mark behind it.
extension Substring {
    fileprivate var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}

extension String {
    fileprivate var names: [String] {
        unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    }

    fileprivate var slashCount: Int { utf8.count { $0 == UInt8(ascii: "/") } }
}
