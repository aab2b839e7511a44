/// Judges every read of a secret before anything is decrypted: the one place that a mount and a command ask.
///
/// What reads is named by the id of a thread, as the kernel tells it with a request, and a secret by STORE/PATH, as the mount
/// shows it.
public protocol ReadJudge: Sendable {
    /// Whether reads are judged or noted at all; while not, nobody need be asked, and nothing is looked up.
    var isWatching: Bool { get }

    /// Judges one open for reading; returns at once.
    func judge(_ thread: Int32, reading secret: String) -> Judgement

    /// Whether a secret may be read without a question to anybody; the read is noted only then. For what must not wait, and
    /// asks `judge` otherwise.
    func allows(_ thread: Int32, reading secret: String) -> Bool

    /// Whether a secret, or a folder with all below it, may get another name: where other rules apply there, only if it may be
    /// read. Nobody is asked, and nothing is noted.
    func allows(_ thread: Int32, moving place: String, to other: String) -> Bool
}

/// What becomes of a read.
public enum Judgement: Sendable {
    case allowed
    case refused
    /// A person is asked.
    case asked(AwaitedConsent)
}
