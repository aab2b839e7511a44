import Synchronization
import System
public import SystemPackage

/// The judge of a running mount: the rules in force, the readers that were looked at, agreements, questions and the log.
public final class AccessGate: ReadJudge {
    private struct InForce {
        var options = AccessOptions()
        /// Another one with each change of the rules.
        var generation = 0
    }

    private let inForce = Mutex(InForce())
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
        inForce.withLock { state in
            state.options = options
            state.generation += 1
        }
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
        let options = options
        guard options.concerns(secret) else { return .allowed(.none) }
        let known = readers.find(thread)
        let decision = decide(known, secret)
        switch (decision.outcome, decision.rule) {
        case (.ask, let rule?):
            if let said = consents.answer(rule, known.reader) {
                return judgement(said, known, secret, decision)
            }
            return ask(thread, known, secret, decision, rule, options.timeout)
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
        guard isWatching, options.concerns(secret) else { return ReadNote.none }
        let known = readers.find(thread)
        let decision = decide(known, secret)
        return outcomeAtOnce(decision, known.reader).map { note(known, secret, decision, $0) }
    }

    /// Whether a place may get another name; nothing is noted.
    public func allows(_ thread: Int32, moving place: String, to other: String) -> Bool {
        let rules = options.rules
        guard !rules.isEmpty else { return true }
        let (from, to) = (rules.governing(place), rules.governing(other))
        let below = rules.places(below: place)
        // The same rules apply: whoever reads is judged as before.
        if from == to, from != place, below.isEmpty { return true }
        let reader = readers.find(thread)
        return ([place] + below).allSatisfy { outcomeAtOnce(decide(reader, $0), reader.reader) != nil }
    }

    /// How a reader may read without a question; nil where he may not.
    private func outcomeAtOnce(_ decision: Decision, _ reader: Reader) -> AccessOutcome? {
        switch (decision.outcome, decision.rule) {
        case (.allow, _): .allowed
        case (.ask, let rule?): consents.answer(rule, reader) == true ? .agreed : nil
        case (.ask, nil), (.deny, _): nil
        }
    }

    private func decide(_ known: KnownReader, _ secret: String) -> Decision {
        let (rules, generation) = inForce.withLock { ($0.options.rules, $0.generation) }
        guard let place = rules.governing(secret) else { return Decision(outcome: .allow, rule: nil) }
        let remembered = known.decisions.withLock { $0.generation == generation ? $0.byPlace[place] : nil }
        if let remembered { return remembered }
        let decision = rules.decide(known.reader, at: place)
        known.decisions.withLock { decisions in
            if decisions.generation != generation { decisions = (generation, [:]) }
            decisions.byPlace[place] = decision
        }
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
