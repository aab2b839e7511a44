/// What happens to those that a rule is for, and who that is.
public struct AccessRule: Sendable, Hashable {
    /// How long an agreement holds.
    public enum Consent: Sendable, Hashable {
        /// For the program, until the store is locked or the mount ends.
        case untilLock
        /// For the program, for so long.
        case lasting(Duration)
        /// For one run of the program.
        case everyTime
    }

    /// What happens.
    public enum Outcome: Sendable, Hashable {
        case allow
        case ask(Consent)
        case deny
    }

    /// What happens.
    public var outcome: Outcome
    /// The path of the program that reads; nil: any.
    public var program: String?
    /// Programs, by path or by the last part of it: the reader is one of them, was started below one, or runs in a unit or
    /// scope of its name. Empty: any.
    public var under: [String]
    /// The name of a unit or scope of systemd, `*` standing for any part; nil: any.
    public var unit: String?
    /// Whether the reader has a terminal; nil: any.
    public var hasTerminal: Bool?

    /// A rule of these parts.
    public init(
        _ outcome: Outcome, program: String? = nil, under: [String] = [], unit: String? = nil,
        hasTerminal: Bool? = nil
    ) {
        (self.outcome, self.program, self.under) = (outcome, program, under)
        (self.unit, self.hasTerminal) = (unit, hasTerminal)
    }

    /// Whether it is for every reader.
    public var isForAll: Bool { program == nil && under.isEmpty && unit == nil && hasTerminal == nil }

    /// Whether it is for the same readers as another.
    public func isForSameReaders(as other: AccessRule) -> Bool {
        program == other.program && Set(under) == Set(other.under) && unit == other.unit
            && hasTerminal == other.hasTerminal
    }
}
