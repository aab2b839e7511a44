import Synchronization
import System
public import SystemPackage

/// The judge of a running mount: the rules in force, the readers that were looked at, agreements, questions and the log.
public final class AccessGate: ReadJudge {
    /// Another one with each change of the rules, so that it tells decisions by former ones apart.
    public final class InForce: Sendable {
        let options: AccessOptions
        /// Tells it from all others, also from those of other gates, for whoever cannot hold it.
        public let id = String(UInt64.random(in: .min ... .max), radix: 16)

        init(_ options: AccessOptions) { self.options = options }
    }

    private let current = Mutex(InForce(AccessOptions()))
    private let watches = Atomic(false)
    let readers = KnownReaders()
    let consents = Consents()
    let questions: Questions
    let log: AccessLog

    /// A gate that lets everybody through.
    /// - Parameters:
    ///   - log: the file in which it is noted who reads; made when something is.
    ///   - notify: tells a person on the desktop; returns at once.
    public init(
        log: FilePath, notify: @escaping @Sendable (_ title: String, _ body: String) -> Void = { _, _ in }
    ) {
        let log = AccessLog(file: log, notify: notify)
        self.log = log
        questions = Questions { log.hasChanged($0) }
    }

    /// Judges by these options from now on. Where they are the same, decisions stay those of what is in force.
    public func use(_ options: AccessOptions) {
        current.withLock { if $0.options != options { $0 = InForce(options) } }
        log.use(options)
        watches.store(options.isWatching, ordering: .releasing)
    }

    /// For a mount, which may run for long and log nothing: has what is older than `access.keep` go from the log; returns at once.
    public func forgetOldLines() { log.forgetOldLines() }

    /// As the protocol says.
    public var inForce: InForce { current.withLock(\.self) }

    /// What is in force.
    public var options: AccessOptions { inForce.options }

    /// Whether there are rules, or reads are noted.
    public var isWatching: Bool { watches.load(ordering: .acquiring) }

    /// Judges one open for reading; returns at once.
    public func judge(
        _ thread: Int32, reading secret: String, after note: ReadNote = .none
    ) -> Judgement {
        judge(thread, .reading(secret), after: note)
    }

    /// As the protocol says.
    public func refuse(_ thread: Int32, reading store: String) -> Judgement {
        log.note(readers.find(thread).reader, store, Decision(outcome: .deny, rule: nil), .denied)
        return .refused
    }

    /// Judges a change of the list of recipients of a folder; returns at once.
    public func judge(
        _ thread: Int32, changing list: String, mayAsk: Bool = true, after note: ReadNote = .none
    ) -> Judgement {
        judge(thread, .changing(list: list), mayAsk: mayAsk, after: note)
    }

    private func judge(
        _ thread: Int32, _ deed: Deed, through command: Int32? = nil, mayAsk: Bool = true,
        after former: ReadNote = .none
    ) -> Judgement {
        guard isWatching else { return .allowed(.none) }
        let inForce = inForce
        guard deed.concerns(inForce.options) else { return .allowed(ReadNote(inForce)) }
        let known = readers.find(thread, through: command)
        let agreed = former.agreed
        switch verdict(on: known, deed, inForce, agreed: agreed) {
        case .allowed(let decision, let outcome):
            let read = JudgedRead(known.reader, deed.name, decision)
            return .allowed(ReadNote(read, outcome, by: inForce, in: log).keepingAgreements(of: former))
        case .refused(let decision, let outcome):
            log.note(known.reader, deed.name, decision, outcome)
            return .refused
        case .question(let decision, let rule):
            if mayAsk {
                let asking = AskedDeed(deed, known, thread, decision, inForce, agreed: agreed)
                return ask(asking, rule)
            }
            log.note(known.reader, deed.name, decision, .unanswered)
            return .unasked
        }
    }

    enum Verdict {
        case allowed(Decision, AccessOutcome)
        case refused(Decision, AccessOutcome)
        case question(Decision, PlacedRule)
    }

    /// What the rules and the people say of a deed so far; of several places the strictest.
    /// - Parameter agreed: the rules whose questions were answered with yes for this very deed.
    func verdict(
        on known: KnownReader, _ deed: Deed, _ inForce: InForce, agreed: Set<PlacedRule> = []
    ) -> Verdict {
        guard case .changing = deed else {
            return verdict(on: known, Self.judged(known, deed.name, inForce).decision, agreed)
        }
        let all = deed.places(inForce.options.rules).map {
            verdict(on: known, Self.judged(known, $0, inForce).decision, agreed)
        }
        func first(_ isMeant: (Verdict) -> Bool) -> Verdict? { all.first(where: isMeant) }
        return first { if case .refused = $0 { true } else { false } }
            ?? first { if case .question = $0 { true } else { false } }
            ?? first { if case .allowed(_, .agreed) = $0 { true } else { false } }
            ?? all.first ?? .allowed(Decision(outcome: .allow, rule: nil), .allowed)
    }

    private func verdict(
        on known: KnownReader, _ decision: Decision, _ agreed: Set<PlacedRule>
    ) -> Verdict {
        switch (decision.outcome, decision.rule) {
        case (.allow, _): .allowed(decision, .allowed)
        case (.deny, _), (.ask, nil): .refused(decision, .denied)
        case (.ask, let rule?):
            switch agreed.contains(rule) ? true : consents.answer(rule, known.reader) {
            case true?: .allowed(decision, .agreed)
            case false?: .refused(decision, .declined)
            case nil: .question(decision, rule)
            }
        }
    }

    /// As `judge`, but waits for the answer: for a command of passdir, which reads for a process.
    /// - Parameter waits: returns when a descriptor can be read, or false when the command waits no longer: the question is ended
    ///   then.
    /// - Returns: the note of the read; nil where it is refused.
    public func judgeAndWait(
        _ process: Int32, through command: Int32, reading secret: String, _ waits: (_ answer: CInt) -> Bool
    ) -> ReadNote? {
        wait(judge(process, .reading(secret), through: command), waits)
    }

    /// As above, of a change of a list.
    public func judgeAndWait(
        _ process: Int32, through command: Int32, changing list: String, _ waits: (_ answer: CInt) -> Bool
    ) -> ReadNote? {
        wait(judge(process, .changing(list: list), through: command), waits)
    }

    private func wait(_ judgement: Judgement, _ waits: (_ answer: CInt) -> Bool) -> ReadNote? {
        switch judgement {
        case .allowed(let note): return note
        case .refused, .unasked: return nil
        case .asked(let consent, let note):
            guard let answer = try? ReadableAnswer() else {
                consent.withdraw()
                return nil
            }
            consent.whenAnswered { answer.give($0) }
            if !waits(answer.descriptor) { consent.withdraw { answer.give(false) } }
            return answer.wait() ? note : nil
        }
    }

    /// Notes what became of a command's read that was let by these rules.
    /// - Parameter isAgreed: whether a person was asked about it.
    /// - Returns: false where they do not let it now, and nothing is noted: whoever started the command is another program by now.
    public func note(
        _ process: Int32, through command: Int32, reading secret: String, by inForce: InForce, isAgreed: Bool,
        _ end: ReadEnd
    ) -> Bool {
        guard isWatching, inForce.options.concerns(secret) else { return true }
        let read = Self.judged(readers.find(process, through: command), secret, inForce)
        switch read.decision.outcome {
        case .allow: log.note(read, end.outcome(ofRead: .allowed))
        case .ask where isAgreed: log.note(read, end.outcome(ofRead: .agreed))
        case .ask, .deny: return false
        }
        return true
    }

    /// Forgets what people agreed to of the secrets of these stores, by their names.
    public func forgetConsents(_ isOf: (_ store: String) -> Bool) { consents.forget(isOf) }

    /// Returns when what has been read so far is in the log.
    public func writeLog() { log.flush() }

    /// Like `writeLog`, and waits for some seconds where another program holds the log's file.
    public func writeWholeLog() { log.flushOutlivingHolds() }

    /// Answers all readers about whom a person is asked that nobody is there: the computer is about to be suspended, and a
    /// program that waits for the mount cannot be stopped.
    /// - Parameter seconds: how long to wait until nothing is shown to anybody.
    public func endQuestions(atMost seconds: Double) { questions.end(atMost: seconds) }

    /// Writes the rest of the log, and notes nothing from then on.
    public func close() { log.close() }

    /// Whether a secret may be read without a question; nil where it may not.
    public func allows(_ thread: Int32, reading secret: String) -> ReadNote? {
        let inForce = inForce
        guard isWatching, inForce.options.concerns(secret) else { return ReadNote(inForce) }
        let known = readers.find(thread)
        let read = Self.judged(known, secret, inForce)
        return outcomeAtOnce(read).map { ReadNote(read, $0, by: inForce, in: log) }
    }

    /// The places with rules below a folder, or a store.
    public func ruledPlaces(below folder: String) -> [String] { options.rules.places(below: folder) }

    /// Whether a place has rules of its own.
    public func hasRules(at place: String) -> Bool {
        inForce.options.rules.hasRules(at: place)
    }

    /// Whether rules of a link's place hold where it leads to.
    public func rulesHold(forLinkIn place: String, to other: String) -> Bool {
        let rules = inForce.options.rules
        guard !rules.isEmpty else { return true }
        guard rules.places(below: place).isEmpty else { return false }
        guard let from = rules.governing(place) else { return true }
        guard from != place, let to = rules.governing(other) else { return false }
        return to == from || to.hasPrefix(from + "/")
    }

    /// Whether rules hold at a place, or at any below it.
    public func hasRules(over place: String) -> Bool {
        let rules = inForce.options.rules
        return rules.governing(place) != nil || !rules.places(below: place).isEmpty
    }

    /// Whether the rules of one place are others than those of another.
    public func rulesDiffer(_ place: String, _ other: String) -> Bool {
        inForce.options.rules.differ(place, other)
    }

    /// Whether a place may get another name; nothing is noted.
    public func allows(_ thread: Int32, moving place: String, to other: String) -> Bool {
        let inForce = inForce
        // Else whoever reads is judged as before.
        guard inForce.options.rules.differ(place, other) else { return true }
        let reader = readers.find(thread)
        return ([place] + inForce.options.rules.places(below: place)).allSatisfy {
            outcomeAtOnce(Self.judged(reader, $0, inForce)) != nil
        }
    }

    /// How it may be read without a question; nil where it may not.
    private func outcomeAtOnce(_ read: JudgedRead) -> AccessOutcome? {
        switch read.decision.outcome {
        case .allow: .allowed
        case .ask: read.decision.rule.map { consents.answer($0, read.reader) == true } == true ? .agreed : nil
        case .deny: nil
        }
    }

    private static func judged(_ known: KnownReader, _ secret: String, _ inForce: InForce) -> JudgedRead {
        if let read = known.decisions.withLock({ $0.read(of: secret, inForce) }) { return read }
        let rules = inForce.options.rules
        guard let place = rules.governing(secret) else {
            return JudgedRead(known.reader, secret, Decision(outcome: .allow, rule: nil))
        }
        let remembered = known.decisions.withLock { $0.at(place, inForce) }
        let read = JudgedRead(known.reader, secret, remembered ?? rules.decide(known.reader, at: place))
        known.decisions.withLock { $0.keep(read, at: place, inForce) }
        return read
    }
}
