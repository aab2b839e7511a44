import Synchronization

/// What is judged.
enum Deed: Sendable {
    /// A secret is read.
    case reading(String)
    /// The list of recipients of a folder is changed, STORE/FOLDER/LIST: whoever does that decides who can read all that lies
    /// below, and must be one who may.
    case changing(list: String)

    /// Under which name it is noted and asked about.
    var name: String {
        switch self {
        case .reading(let secret): secret
        case .changing(let list): list
        }
    }

    /// The places that must be open to whoever does it.
    func places(_ rules: AccessRules) -> [String] {
        switch self {
        case .reading(let secret): [secret]
        case .changing(let list): [list] + rules.places(below: Self.folder(of: list))
        }
    }

    /// What a person is asked about it where a rule asks.
    func topic(of rule: PlacedRule) -> QuestionTopic {
        switch self {
        case .reading: .rule(rule)
        case .changing: .change(rule)
        }
    }

    /// Whether it is judged or noted.
    func concerns(_ options: AccessOptions) -> Bool {
        switch self {
        case .reading(let secret): options.concerns(secret)
        case .changing(let list):
            options.rules.governing(list) != nil
                || !options.rules.places(below: Self.folder(of: list)).isEmpty
        }
    }

    /// The folder of a list.
    static func folder(of list: String) -> String {
        list.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(list[..<$0]) } ?? list
    }
}

/// A deed that a person is asked about.
final class AskedDeed: Sendable {
    struct State: Sendable {
        /// What the rules say as far as is known.
        var decision: Decision
        /// By which rules that is.
        var inForce: AccessGate.InForce
        /// What it is noted as once it is done.
        var outcome = AccessOutcome.agreed
        /// The rules whose questions were answered with yes.
        var agreed: Set<PlacedRule> = []
        /// Ends the wait for the answer to the question that is shown.
        var withdraw: Questions.Withdrawal?
    }

    let deed: Deed
    let known: KnownReader
    let thread: Int32
    let state: Mutex<State>

    /// - Parameter agreed: the rules whose questions were answered with yes for this very deed before.
    init(
        _ deed: Deed, _ known: KnownReader, _ thread: Int32, _ decision: Decision,
        _ inForce: AccessGate.InForce, agreed: Set<PlacedRule>
    ) {
        (self.deed, self.known, self.thread) = (deed, known, thread)
        state = Mutex(State(decision: decision, inForce: inForce, agreed: agreed))
    }
}
