import CGPGME
import Glibc
import Synchronization
import System

/// Has gpg-agent decrypt session keys: secret keys, passphrases and cards are its business.
final class SessionKeyService: Sendable {
    private let agent: Agent
    private let gate: Gate
    private let turns = Turns()
    /// When each key, by its keygrip, last gave a session key without a person; of this user's own keys only.
    private let usedAt = Mutex<[String: ContinuousClock.Instant]>([:])
    /// For so long after that the agent is not asked whether the key is locked: whoever reads many secrets waits for it half as
    /// often. Where it has been locked meanwhile, the agent refuses, and a person is asked as ever.
    private static let trustedFor = Duration.seconds(1)

    init(_ agent: Agent, _ gate: Gate) {
        self.agent = agent
        self.gate = gate
    }

    /// How many readers wait for a passphrase that another was asked for.
    var waiterCount: Int { turns.waiterCount }

    /// The session key.
    /// - Throws: `AgentFailure.ended` with what the caller is to be told; all else is for gpg to judge.
    func key(
        of message: EncryptedSessionKey, for own: OwnKey, _ given: Bounds, mayAsk: Bool,
        _ place: () -> PromptPlace
    ) throws(AgentFailure) -> MessageKey {
        var bounds = given
        let wakeup: Wakeup
        do throws(OpenPGPError) { wakeup = try Wakeup() } catch { throw .ended(error) }
        let token = bounds.cancellation?.register { wakeup.wake() }
        defer { bounds.cancellation?.unregister(token) }
        while true {
            let lane: Gate.Lane = mayAsk ? .secretKeys([message.keyID]) : .unlockedKeys([message.keyID])
            let pass = gate.request(wakeup, in: lane, isBehindAll: true)
            defer { pass.giveBack() }
            do throws(OpenPGPError) {
                while !pass.isGranted { try bounds.pause(wakeup, pass) }
                try bounds.check(pass)
            } catch { throw .ended(error) }
            let wait = AgentWait(bounds, wakeup, pass)
            if let key = try unlocked(message, own, wait, mayAsk: mayAsk) {
                pass.giveBack(.done)
                return key
            }
            guard let waiter = turns.enter(own.keygrip, wakeup) else {
                wait.yieldPlace()
                let key = try ask(message, own, wait, place())
                pass.giveBack(.done)
                return key
            }
            bounds.keepDeadline(pass)
            pass.giveBack()
            defer { turns.giveUp(own.keygrip, waiter) }
            do throws(OpenPGPError) {
                try waiter.wait(&bounds)
                // Not behind others: whoever has waited for so long for an answer is not asked now.
                try bounds.check()
            } catch { throw .ended(error) }
        }
    }

    /// Without asking a person; nil where one would have to be asked, and may be.
    private func unlocked(
        _ message: EncryptedSessionKey, _ own: OwnKey, _ wait: AgentWait, mayAsk: Bool
    ) throws(AgentFailure) -> MessageKey? {
        do throws(AgentFailure) {
            let connection = try agent.connection(wait)
            // gpg-agent lets everybody wait who needs a locked key while it asks for any.
            let isTrusted = usedAt.withLock { $0[own.keygrip] }.map { .now - $0 < Self.trustedFor } ?? false
            if mayAsk, !isTrusted, try isLocked(own, connection, wait) { return nil }
            let key = try decrypt(message, own, connection, wait, try AgentAnswer())
            usedAt.withLock { $0[own.keygrip] = .now }
            return key
        } catch .refused(let code) {
            usedAt.withLock { $0[own.keygrip] = nil }
            let error = Self.error(code)
            if error?.code == .noPinentry, mayAsk { return nil }
            throw error.map { .ended($0) } ?? .refused(code)
        }
    }

    /// Whether gpg-agent has neither the bare key nor its passphrase.
    func isLocked(_ own: OwnKey, _ bounds: Bounds) throws(AgentFailure) -> Bool {
        let wait = try AgentWait(bounds)
        return try isLocked(own, try agent.connection(wait), wait)
    }

    /// As above, on a connection that is there.
    private func isLocked(
        _ own: OwnKey, _ connection: AgentConnection, _ wait: AgentWait
    ) throws(AgentFailure) -> Bool {
        let answer = try AgentAnswer()
        try connection.run("KEYINFO \(own.keygrip)", wait, into: answer)
        let words = answer.status.first?.split(separator: " ") ?? []
        // KEYINFO grip type serial id cached protection …; of a card only trying tells.
        return words.count > 6 && words[0] == "KEYINFO" && words[2] == "D" && words[5] != "1"
            && words[6] == "P"
    }

    /// Has a person asked, where the reader sits, on a connection for just that.
    private func ask(
        _ message: EncryptedSessionKey, _ own: OwnKey, _ wait: AgentWait, _ place: PromptPlace
    ) throws(AgentFailure) -> MessageKey {
        var outcome = Turns.Outcome.tryAgain
        defer { turns.leave(own.keygrip, outcome) }
        let answer = try AgentAnswer()
        wait.waitsForTurn()
        wait.whenAsked = { [turns] in turns.asks(own.keygrip, until: $0) }
        let connection = try agent.connectionThatAsks(place, wait)
        do throws(AgentFailure) {
            let words = own.description.utf8.reduce(into: "") { $0 += Self.escaped($1) }
            try connection.run("SETKEYDESC \(words)", wait)
            return try decryptInTurn(message, own, connection, wait, answer)
        } catch .refused(let code) {
            guard let error = Self.error(code) else { throw .refused(code) }
            outcome = .refused(error)
            throw .ended(error)
        } catch {
            guard case .ended = error else { throw error }
            if answer.hasAsked { answer.closePrompt() } else { connection.forgo(answer) }
            throw error
        }
    }

    /// gpg-agent waits for another prompt for a minute; then it is asked again.
    private func decryptInTurn(
        _ message: EncryptedSessionKey, _ own: OwnKey, _ connection: AgentConnection, _ wait: AgentWait,
        _ answer: AgentAnswer
    ) throws(AgentFailure) -> MessageKey {
        while true {
            do throws(AgentFailure) {
                return try decrypt(message, own, connection, wait, answer)
            } catch .refused(let code) where !answer.hasAsked && Self.error(code)?.code == .timedOut {
                try wait.check()
            }
        }
    }

    private func decrypt(
        _ message: EncryptedSessionKey, _ own: OwnKey, _ connection: AgentConnection, _ wait: AgentWait,
        _ answer: AgentAnswer
    ) throws(AgentFailure) -> MessageKey {
        try connection.queue("SETKEY \(own.keygrip)")
        try connection.run("PKDECRYPT", wait, inquired: ("CIPHERTEXT", message.question), into: answer)
        let isPadded = !answer.status.contains { $0 == "PADDING 0" }
        guard let key = try? message.key(in: answer.bytes, for: own.packet, isPadded: isPadded) else {
            throw .broken
        }
        return key
    }

    /// What a person, or the want of one, answered; nil for what gpg is to judge.
    private static func error(_ code: UInt32) -> OpenPGPError? {
        switch EngineFailure.code(gpgme_err_code_t(code)) {
        case let kind? where [.badPassphrase, .declined, .timedOut, .noPinentry].contains(kind):
            return GnuPG.sentence(kind, code)
        default: return nil
        }
    }

    /// What is no letter or digit, as gpg-agent wants it in a command.
    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: return String(UnicodeScalar(byte))
        case 0x20: return "+"
        default: return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
    }
}
