/// Judges every read of a secret before anything is decrypted: the one place that a mount and a command ask.
///
/// What reads is named by the id of a thread, as the kernel tells it with a request, and a secret by STORE/PATH, as the mount
/// shows it.
public protocol ReadJudge: Sendable {
    /// Whether reads are judged or noted at all; while not, nobody need be asked, and nothing is looked up.
    var isWatching: Bool { get }

    /// Judges one open for reading; returns at once.
    func judge(_ thread: Int32, reading secret: String) -> Judgement

    /// Whether a secret may be read without a question to anybody; nil where it may not. For what must not wait, and asks
    /// `judge` otherwise.
    func allows(_ thread: Int32, reading secret: String) -> ReadNote?

    /// The places with rules below a folder, or a store.
    func ruledPlaces(below folder: String) -> [String]

    /// Whether a place has rules of its own.
    func hasRules(at place: String) -> Bool

    /// Whether what a symbolic link in a place leads to is judged by the rules of the link's place, too: whoever changes the store
    /// could else take the place out of its rules.
    func rulesHold(forLinkIn place: String, to other: String) -> Bool

    /// Whether a secret, or a folder with all below it, may get another name: where other rules apply there, only if it may be
    /// read. Nobody is asked, and nothing is noted.
    func allows(_ thread: Int32, moving place: String, to other: String) -> Bool
}

/// What becomes of a read. A refusal is noted already.
public enum Judgement: Sendable {
    case allowed(ReadNote)
    case refused
    /// A person is asked; the note is for when they agree.
    case asked(AwaitedConsent, ReadNote)
}

/// A line of the log that waits for what becomes of a read which may take place.
public struct ReadNote: Sendable {
    private let write: (@Sendable (_ isLocked: Bool) -> Void)?

    init(_ write: @escaping @Sendable (_ isLocked: Bool) -> Void) { self.write = write }

    private init() { write = nil }

    /// Of a read that nobody notes.
    public static let none = ReadNote()

    /// Says that the secret was read.
    public func read() { write?(false) }

    /// Says that the store was locked.
    public func refusedByLock() { write?(true) }
}
