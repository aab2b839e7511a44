import Synchronization
import System
import SystemPackage

/// Where rules and earlier answers do not decide, a person does.
extension AccessGate {
    /// Has a person asked about a deed, and judges it again with the answer.
    /// - Parameter rule: the one that asks.
    func ask(_ asking: AskedDeed, _ rule: PlacedRule) -> Judgement {
        let (known, name) = (asking.known, asking.deed.name)
        let consent = AwaitedConsent { [log] whenGone in
            let asked = asking.state.withLock { $0 }
            log.note(known.reader, name, asked.decision, .interrupted)
            // Between two questions nothing is shown.
            if asked.withdraw?(whenGone) != true { whenGone() }
        }
        pose(rule, asking, consent)
        let note = ReadNote(asking, in: log)
        switch consent.takeAnswer() {
        case true?: return .allowed(note)
        case false?: return .refused
        case nil: return .asked(consent, note)
        }
    }

    /// Has a person asked whether a rule lets a deed be done; `consent` has the answer in the end.
    private func pose(_ rule: PlacedRule, _ asking: AskedDeed, _ consent: AwaitedConsent) {
        let (known, name) = (asking.known, asking.deed.name)
        @Sendable func refuse(_ outcome: AccessOutcome) {
            log.note(known.reader, name, asking.state.withLock { $0.decision }, outcome)
            consent.give(false)
        }
        do throws(Errno) {
            let waiter = Questions.Waiter {
                self.consents.answer(rule, known.reader)
            } keep: {
                self.consents.keep($0, rule, known.reader)
            } body: { answer in
                // Whoever runs another program by now has not been agreed to.
                let isSame = known.reader.isUnknown || known.isStillThere
                if isSame, answer == .left {
                    if consent.isAwaited { self.pose(rule, asking, consent) }
                    return
                }
                guard isSame, answer == .agreed || answer == .once else {
                    return refuse(answer == .nobody ? .unanswered : .declined)
                }
                self.goOn(asking, agreedTo: rule, consent)
            }
            switch try questions.ask(
                name, known.reader, thread: asking.thread, about: asking.deed.topic(of: rule),
                within: options.timeout, waiter
            )
            {
            case .waiting(let withdraw):
                asking.state.withLock { $0.withdraw = withdraw }
                // The reader may have gone between two questions.
                if !consent.isAwaited { _ = withdraw {} }
            case .said(true): goOn(asking, agreedTo: rule, consent)
            case .said(false): refuse(.declined)
            }
        } catch {
            refuse(.unanswered)
        }
    }

    /// Looks at the rules again when a person has agreed: one that was set meanwhile counts, and there may be more to ask.
    private func goOn(_ asking: AskedDeed, agreedTo rule: PlacedRule, _ consent: AwaitedConsent) {
        let inForce = inForce
        let agreed = asking.state.withLock { state in
            state.agreed.insert(rule)
            state.inForce = inForce
            return state.agreed
        }
        switch verdict(on: asking.known, asking.deed, inForce, agreed: agreed) {
        case .allowed(let decision, let outcome):
            asking.state.withLock { ($0.decision, $0.outcome) = (decision, outcome) }
            consent.give(true)
        case .refused(let decision, let outcome):
            log.note(asking.known.reader, asking.deed.name, decision, outcome)
            consent.give(false)
        case .question(let decision, let next):
            asking.state.withLock { $0.decision = decision }
            if consent.isAwaited { pose(next, asking, consent) }
        }
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
            return { _ = withdraw { answer(.refused) } }
        } catch {
            answer(.refused)
            return {}
        }
    }
}
