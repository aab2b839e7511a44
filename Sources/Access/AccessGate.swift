import Synchronization
import System
public import SystemPackage

/// The judge of a running mount: the rules in force, the readers that were looked at, agreements, questions and the log.
public final class AccessGate: ReadJudge {
    /// Another one with each change of the rules, so that it tells decisions by former ones apart.
    final class InForce: Sendable {
        let options: AccessOptions

        init(_ options: AccessOptions) { self.options = options }
    }

    private let inForce = Mutex(InForce(AccessOptions()))
    private let watches = Atomic(false)
    private let readers = KnownReaders()
    private let consents = Consents()
    private let questions: Questions
    private let log: AccessLog

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

    /// Judges by these options from now on.
    public func use(_ options: AccessOptions) {
        inForce.withLock { $0 = InForce(options) }
        log.use(options)
        watches.store(options.isWatching, ordering: .releasing)
    }

    /// What is in force.
    public var options: AccessOptions { inForce.withLock { $0.options } }

    /// Whether there are rules, or reads are noted.
    public var isWatching: Bool { watches.load(ordering: .acquiring) }

    /// Judges one open for reading; returns at once.
    public func judge(_ thread: Int32, reading secret: String) -> Judgement {
        guard isWatching else { return .allowed(.none) }
        let inForce = inForce.withLock(\.self)
        guard inForce.options.concerns(secret) else { return .allowed(.none) }
        let known = readers.find(thread)
        let decision = Self.decide(known, secret, inForce)
        switch (decision.outcome, decision.rule) {
        case (.ask, let rule?):
            if let said = consents.answer(rule, known.reader) {
                return judgement(said, known, secret, decision)
            }
            return ask(thread, known, secret, decision, rule, inForce.options.timeout)
        case (.deny, _), (.ask, nil):
            log.note(known.reader, secret, decision, .denied)
            return .refused
        case (.allow, _):
            return .allowed(note(known, secret, decision, .allowed))
        }
    }

    private func note(
        _ known: KnownReader, _ secret: String, _ decision: Decision, _ outcome: AccessOutcome
    ) -> ReadNote {
        ReadNote { [log] in log.note(known.reader, secret, decision, $0 ? .locked : outcome) }
    }

    /// As a person has said before.
    private func judgement(
        _ said: Bool, _ known: KnownReader, _ secret: String, _ decision: Decision
    ) -> Judgement {
        if said { return .allowed(note(known, secret, decision, .agreed)) }
        log.note(known.reader, secret, decision, .declined)
        return .refused
    }

    private func ask(
        _ thread: Int32, _ known: KnownReader, _ secret: String, _ decision: Decision, _ rule: PlacedRule,
        _ limit: Duration
    ) -> Judgement {
        let withdrawal = Mutex<(@Sendable () -> Void)?>(nil)
        let consent = AwaitedConsent { [log] in
            withdrawal.withLock { $0 }?()
            log.note(known.reader, secret, decision, .interrupted)
        }
        do throws(Errno) {
            let waiter = Questions.Waiter {
                self.consents.answer(rule, known.reader)
            } keep: {
                self.consents.keep($0, rule, known.reader)
            } body: { [log] answer in
                // Whoever runs another program by now has not been agreed to.
                let isSame = known.reader.isUnknown || known.isStillThere
                let isAllowed = isSame && (answer == .agreed || answer == .once)
                if !isAllowed {
                    log.note(
                        known.reader, secret, decision, answer == .nobody ? .unanswered : .declined)
                }
                consent.give(isAllowed)
            }
            switch try questions.ask(
                secret, known.reader, thread: thread, about: .rule(rule), within: limit, waiter)
            {
            case .waiting(let withdraw): withdrawal.withLock { $0 = withdraw }
            case .said(let said): return judgement(said, known, secret, decision)
            }
        } catch {
            log.note(known.reader, secret, decision, .unanswered)
            return .refused
        }
        return .asked(consent, note(known, secret, decision, .agreed))
    }

    /// As `judge`, but waits for the answer: for a command.
    public func judgeAndWait(_ process: Int32, reading secret: String) -> Bool {
        switch judge(process, reading: secret) {
        case .allowed(let note):
            note.read()
            return true
        case .refused: return false
        case .asked(let consent, let note):
            let answer = Monitor<Bool?>(nil)
            consent.whenAnswered { said in
                answer.withLock { $0 = said }
                answer.signal()
            }
            let isAllowed = answer.waiting { said, _ in said.map { .done($0) } ?? .wait(until: nil) }
            if isAllowed { note.read() }
            return isAllowed
        }
    }

    /// Forgets what people agreed to of the secrets of these stores, by their names.
    public func forgetConsents(_ isOf: (_ store: String) -> Bool) { consents.forget(isOf) }

    /// Returns when what has been read so far is in the log.
    public func writeLog() { log.flush() }

    /// Writes the rest of the log, and notes nothing from then on.
    public func close() { log.close() }

    /// Whether a secret may be read without a question; nil where it may not.
    public func allows(_ thread: Int32, reading secret: String) -> ReadNote? {
        let inForce = inForce.withLock(\.self)
        guard isWatching, inForce.options.concerns(secret) else { return ReadNote.none }
        let known = readers.find(thread)
        let decision = Self.decide(known, secret, inForce)
        return outcomeAtOnce(decision, known.reader).map { note(known, secret, decision, $0) }
    }

    /// The places with rules below a folder, or a store.
    public func ruledPlaces(below folder: String) -> [String] { options.rules.places(below: folder) }

    /// Whether a place has rules of its own.
    public func hasRules(at place: String) -> Bool {
        inForce.withLock(\.self).options.rules.hasRules(at: place)
    }

    /// Whether rules of a link's place hold where it leads to.
    public func rulesHold(forLinkIn place: String, to other: String) -> Bool {
        let rules = inForce.withLock(\.self).options.rules
        guard !rules.isEmpty else { return true }
        guard rules.places(below: place).isEmpty else { return false }
        guard let from = rules.governing(place) else { return true }
        guard from != place, let to = rules.governing(other) else { return false }
        return to == from || to.hasPrefix(from + "/")
    }

    /// Whether a place may get another name; nothing is noted.
    public func allows(_ thread: Int32, moving place: String, to other: String) -> Bool {
        let inForce = inForce.withLock(\.self)
        let rules = inForce.options.rules
        guard !rules.isEmpty else { return true }
        let (from, to) = (rules.governing(place), rules.governing(other))
        let below = rules.places(below: place)
        // The same rules apply, also to all below: whoever reads is judged as before.
        if from == to, from != place, to != other, below.isEmpty, rules.places(below: other).isEmpty {
            return true
        }
        let reader = readers.find(thread)
        return ([place] + below).allSatisfy {
            outcomeAtOnce(Self.decide(reader, $0, inForce), reader.reader) != nil
        }
    }

    /// How a reader may read without a question; nil where he may not.
    private func outcomeAtOnce(_ decision: Decision, _ reader: Reader) -> AccessOutcome? {
        switch (decision.outcome, decision.rule) {
        case (.allow, _): .allowed
        case (.ask, let rule?): consents.answer(rule, reader) == true ? .agreed : nil
        case (.ask, nil), (.deny, _): nil
        }
    }

    private static func decide(_ known: KnownReader, _ secret: String, _ inForce: InForce) -> Decision {
        if let decision = known.decisions.withLock({ $0.of(secret, inForce) }) { return decision }
        let rules = inForce.options.rules
        guard let place = rules.governing(secret) else { return Decision(outcome: .allow, rule: nil) }
        let remembered = known.decisions.withLock { $0.at(place, inForce) }
        let decision = remembered ?? rules.decide(known.reader, at: place)
        known.decisions.withLock { $0.keep(decision, of: secret, at: place, inForce) }
        return decision
    }
}

extension AccessGate: Consent {
    /// As the protocol says; where nobody can be asked, or answers within `access.timeout`, the answer is no.
    public func askToUnlock(
        _ question: UnlockQuestion, answer: @escaping @Sendable (UnlockAnswer) -> Void
    ) -> @Sendable () -> Void {
        let known = readers.find(question.caller)
        do throws(Errno) {
            let waiter = Questions.Waiter { said in answer(said == .agreed ? .granted : .refused) }
            let asked = try questions.ask(
                "\(question.store)/\(question.path)", known.reader, thread: question.caller,
                about: .unlock(store: question.store), within: options.timeout, waiter)
            guard case .waiting(let withdraw) = asked else { return {} }
            return withdraw
        } catch {
            answer(.refused)
            return {}
        }
    }
}
