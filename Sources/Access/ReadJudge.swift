import Synchronization

/// Judges every read of a secret before anything is decrypted: the one place that a mount and a command ask.
///
/// What reads is named by the id of a thread, as the kernel tells it with a request, and a secret by STORE/PATH, as the mount
/// shows it.
public protocol ReadJudge: Sendable {
    /// Whether reads are judged or noted at all; while not, nobody need be asked, and nothing is looked up.
    var isWatching: Bool { get }

    /// Judges one open for reading; returns at once.
    /// - Parameter note: of the same open as it was judged before the rules changed: what a person agreed to for it counts.
    func judge(_ thread: Int32, reading secret: String, after note: ReadNote) -> Judgement

    /// Refuses a read of what cannot be judged, and notes it as one of a store.
    func refuse(_ thread: Int32, reading store: String) -> Judgement

    /// Judges a change of a list of recipients, STORE/FOLDER/LIST, as a read of all that lies below its folder, whose readers it
    /// says; returns at once. Where no rules hold there, nobody is looked at, and nothing is noted.
    /// - Parameters:
    ///   - mayAsk: whether it can wait for a person; where it cannot, and one would have to be asked, it is `unasked`.
    ///   - note: as above.
    func judge(_ thread: Int32, changing list: String, mayAsk: Bool, after note: ReadNote) -> Judgement

    /// What is in force: another object with each change of the rules. Whoever has waited since a change is judged again.
    var inForce: AccessGate.InForce { get }

    /// Whether a secret may be read without a question to anybody; nil where it may not. For what must not wait, and asks
    /// `judge` otherwise.
    func allows(_ thread: Int32, reading secret: String) -> ReadNote?

    /// The places with rules below a folder, or a store.
    func ruledPlaces(below folder: String) -> [String]

    /// Whether a place has rules of its own.
    func hasRules(at place: String) -> Bool

    /// Whether rules hold at a place, or at any below it.
    func hasRules(over place: String) -> Bool

    /// Whether the rules of one place are others than those of another: what is open at the one must not become the other.
    func rulesDiffer(_ place: String, _ other: String) -> Bool

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
    /// Refused as a person would have to be asked, for whom it cannot wait.
    case unasked
    /// A person is asked; the note is for when they agree.
    case asked(AwaitedConsent, ReadNote)
}

/// A line of the log that waits for what becomes of a read which may take place.
public struct ReadNote: Sendable {
    private enum Basis {
        /// What the rules let, and as what it is noted.
        case rules(AccessGate.InForce, JudgedRead?, AccessOutcome)
        case question(AskedDeed)
    }

    private let basis: Basis?
    /// What a person was asked about the same read before.
    private var former: [AskedDeed] = []
    private let log: AccessLog?

    /// By what it was judged, with a question by what its answer was; nil where it was not.
    public var inForce: AccessGate.InForce? {
        switch basis {
        case .rules(let inForce, _, _): inForce
        case .question(let asking): asking.state.withLock { $0.inForce }
        case nil: nil
        }
    }

    /// Of a read that no rule is for, and that is not noted.
    init(_ inForce: AccessGate.InForce) { (basis, log) = (.rules(inForce, nil, .allowed), nil) }

    /// Of a read that the rules let.
    /// - Parameter outcome: what it is noted as when the secret was read.
    init(_ read: JudgedRead, _ outcome: AccessOutcome, by inForce: AccessGate.InForce, in log: AccessLog) {
        (basis, self.log) = (.rules(inForce, read, outcome), log)
    }

    /// Of a read that a person is asked about.
    init(_ asking: AskedDeed, in log: AccessLog) { (basis, self.log) = (.question(asking), log) }

    private init() { (basis, log) = (nil, nil) }

    private var questions: [AskedDeed] {
        if case .question(let asking) = basis { former + [asking] } else { former }
    }

    /// Whether a person was asked about this very read.
    public var wasAsked: Bool { !questions.isEmpty }

    /// The rules whose questions a person has answered with yes for this very read, by the program that makes it still.
    var agreed: Set<PlacedRule> {
        questions.filter { $0.known.reader.isUnknown || $0.known.isStillThere }
            .reduce(into: []) { agreed, asking in agreed.formUnion(asking.state.withLock { $0.agreed }) }
    }

    /// The note of the same read, for which what was agreed to before counts, too.
    public func keepingAgreements(of other: ReadNote) -> ReadNote {
        var note = self
        note.former += other.questions
        return note
    }

    /// Of a read that was not judged.
    public static let none = ReadNote()

    /// Says what became of the read.
    public func ended(_ end: ReadEnd) {
        switch basis {
        case .rules(_, let read?, let outcome): log?.note(read, end.outcome(ofRead: outcome))
        case .question(let asking):
            let asked = asking.state.withLock { $0 }
            log?.note(
                asking.known.reader, asking.deed.name, asked.decision, end.outcome(ofRead: asked.outcome))
        case .rules(_, nil, _), nil: break
        }
    }

    /// Says that the secret was read.
    public func read() { ended(.read) }
}

/// What became of a read that might take place.
public enum ReadEnd: String, Sendable, Codable {
    /// The reader has the content.
    case read
    /// The store was locked.
    case locked
    /// There is no content that the reader could have.
    case failed

    /// What it is noted as.
    /// - Parameter outcome: where the secret was read.
    func outcome(ofRead outcome: AccessOutcome) -> AccessOutcome {
        switch self {
        case .read: outcome
        case .locked: .locked
        case .failed: .failed
        }
    }
}
