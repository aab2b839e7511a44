import Access

/// What `passdir access` shows, and what `access --json` prints as it is.
public struct AccessReport: Codable, Sendable, Equatable {
    /// A rule, with the place that it is for.
    public struct Rule: Codable, Sendable, Equatable {
        /// STORE, STORE/FOLDER or STORE/SECRET.
        public var place: String
        /// As the configuration file has it.
        public var rule: String
    }

    /// The rules in force, in the order in which they are looked at.
    public var rules: [Rule]
    /// The names of the stores that are locked.
    public var locked: [String]
    /// Whether it is noted who reads.
    public var isLogging: Bool
    /// What keeps the configuration from being followed, so that the rules are older ones; absent when nothing does.
    public var problem: String?

    /// A report of these parts.
    public init(rules: [Rule], locked: [String], isLogging: Bool, problem: String?) {
        (self.rules, self.locked, self.isLogging, self.problem) = (rules, locked, isLogging, problem)
    }

    /// What options say, with nothing locked.
    public init(_ options: AccessOptions) {
        self.init(
            rules: options.rules.inOrder.map { Rule(place: $0.place, rule: $0.rule.text) }, locked: [],
            isLogging: options.isLogging, problem: nil)
    }
}
