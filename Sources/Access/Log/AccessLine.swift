import Settings

/// What became of a read.
public enum AccessOutcome: String, Sendable, Codable, CaseIterable {
    /// A rule allowed it, or none was for it.
    case allowed
    /// A person agreed, now or before.
    case agreed
    /// A rule denied it.
    case denied
    /// A person refused, now or a moment before.
    case declined
    /// Nobody answered in time, or nobody could be asked.
    case unanswered
    /// The reader waited no longer.
    case interrupted
    /// It might have read, but the store was locked.
    case locked
    /// It might have read, but had no content: the passphrase was not entered, say, or no key decrypts it.
    case failed

    /// Whether the secret was read.
    public var isRead: Bool { self == .allowed || self == .agreed }
}

/// A line of the log: reads of one secret by one program that are alike, within a minute.
public struct AccessLine: Sendable, Hashable, Codable {
    /// Rises with each change of the log: a line whose count rises gets another one.
    public var revision: Int64
    /// When it was read first, in seconds since 1970.
    public var first: Int64
    /// When it was read last.
    public var last: Int64
    /// How often.
    public var count: Int
    /// STORE/PATH.
    public var secret: String
    /// The path of the program, else what it calls itself.
    public var program: String
    /// Whether the kernel says so of the program, and the file at the path is the one that ran.
    public var isProgramCertain: Bool
    /// The process of the first read.
    public var process: Int32
    /// The first two words of its command, as it says itself, or of that of passdir which read for it; never more.
    public var words: [String]
    /// What it was started by, the parent first, up to the leader of its session and to what the rule names.
    public var startedBy: [String]
    /// The path of its terminal; nil without one.
    public var terminal: String?
    /// The innermost unit or scope of systemd.
    public var unit: String?
    /// The rule that decided, with its place; nil where none was for it.
    public var rule: String?
    /// What became of it.
    public var outcome: AccessOutcome

    init(_ read: JudgedRead, _ outcome: AccessOutcome, at time: Int64) {
        let (reader, decision) = (read.reader, read.decision)
        (revision, first, last, count) = (0, time, time, 1)
        secret = read.secret
        program = reader.title
        isProgramCertain = reader.program?.isAtItsPath ?? false
        process = reader.process
        words = reader.command?.words ?? reader.words
        startedBy = reader.startedBy(for: decision.rule?.rule).map(\.title)
        terminal = reader.terminal
        unit = reader.units.last
        rule = decision.rule?.text
        self.outcome = outcome
    }

    /// What makes two reads alike.
    struct Kind: Hashable {
        var parts: [String?]
    }

    var kind: Kind {
        Kind(
            parts: [
                secret, program, terminal, unit, rule, outcome.rawValue, isProgramCertain ? "certain" : nil,
            ]
                + words.map(\.self) + [nil] + startedBy.map(\.self))
    }
}
