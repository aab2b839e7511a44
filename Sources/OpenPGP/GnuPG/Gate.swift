import Synchronization

/// Lets a bounded number of gpg processes run at a time. Who waits queues in a lane, and the lanes take turns, so that
/// many messages for one key don't hold up the others.
///
/// gpg-agent keeps secrets in 64 KiB of locked memory; under many parallel requests it runs out of it and answers
/// "no secret key".
///
/// A lane has one place, until an operation in it ends without having waited for a person: then its key is unlocked,
/// and the lane may have any number of places.
final class Gate: Sendable {
    /// What operations need alike, so that one that waits for a passphrase tells of the others.
    enum Lane: Hashable, Sendable {
        /// Nobody is asked for anything, as for public keys.
        case withoutAsking
        /// As above, with secret keys that are unlocked: refused while a person is asked for one of them, because
        /// gpg-agent lets everybody wait who needs the same key.
        case unlockedKeys(Set<UInt64>)
        /// One of the secret keys with these ids: that of a message's recipients.
        case secretKeys(Set<UInt64>)
        /// As above, of messages that a passphrase of their own decrypts, too: gpg asks for that first, once for each, and
        /// whoever pushes such a message must not let the keys' other messages wait for it.
        case ownPassphrase(Set<UInt64>)
        /// The key that signs; nil: gpg's default key.
        case signer(Fingerprint?)

        var asksNobody: Bool {
            switch self {
            case .withoutAsking, .unlockedKeys: true
            case .secretKeys, .ownPassphrase, .signer: false
            }
        }

        /// Whether operations in this lane are stuck while a person is asked in the other.
        fileprivate func isStuck(behind other: Lane) -> Bool {
            guard case .unlockedKeys(let mine) = self else { return false }
            let asked: Set<UInt64>
            switch other {
            case .secretKeys(let keys), .ownPassphrase(let keys): asked = keys
            case .withoutAsking, .unlockedKeys, .signer: return false
            }
            // 0: the message does not tell.
            return !mine.isDisjoint(with: asked) || mine.contains(0) || asked.contains(0)
        }
    }

    /// How an operation gives its place back.
    enum End {
        /// It ended without having waited for a person.
        case done
        /// It goes on, but waits for a person, not for a processor.
        case waitsForPerson
        /// It was given up, or never had a place.
        case abandoned
    }

    private struct LaneState {
        /// Who waits, in order.
        var waiting: [Pass] = []
        /// How many places it has.
        var granted = 0
        /// How many gave their place back and go on.
        var asking = 0
        var isUnlocked = false
        /// When an operation in it was done last.
        var latestDone: ContinuousClock.Instant?

        func mayEnter(_ lane: Lane) -> Bool {
            !waiting.isEmpty && (granted == 0 || isUnlocked || lane.asksNobody)
        }
    }

    private struct State {
        var free: Int
        var lanes: [Lane: LaneState] = [:]
        /// The lanes in which somebody waits, by whose turn is next.
        var turns: [Lane] = []
        /// Operations in lanes of unlocked keys that have not ended.
        var unattended: [Pass] = []
        /// When an operation with a secret key was done last.
        var latestDone: ContinuousClock.Instant?

        /// Gives away places that are free; whom it gives them to is to be woken.
        mutating func grant() -> [Pass] {
            var granted: [Pass] = []
            while free > 0 {
                let next = turns.firstIndex { lanes[$0]?.mayEnter($0) == true }
                guard let next else { break }
                let lane = turns.remove(at: next)
                guard var state = lanes[lane] else { break }
                let pass = state.waiting.removeFirst()
                state.granted += 1
                free -= 1
                if !state.waiting.isEmpty { turns.append(lane) }
                lanes[lane] = state
                pass.stage.withLock { $0 = .granted }
                granted.append(pass)
            }
            return granted
        }

        mutating func forgetIfIdle(_ lane: Lane) {
            guard let state = lanes[lane], state.waiting.isEmpty else { return }
            turns.removeAll { $0 == lane }
            if state.granted == 0, state.asking == 0 { lanes[lane] = nil }
        }
    }

    private let state: Mutex<State>

    init(places: Int) {
        state = Mutex(State(free: max(places, 1)))
    }

    /// One place, or a place in a lane.
    final class Pass: Sendable {
        enum Stage { case waiting, granted, asking, returned }
        fileprivate let stage = Mutex(Stage.waiting)
        fileprivate let lane: Lane
        fileprivate let wakeup: Wakeup
        private let isBehindAll: Bool
        private let gate: Gate
        private let refused = Atomic(false)

        fileprivate init(_ lane: Lane, isBehindAll: Bool, wakeup: Wakeup, gate: Gate) {
            self.lane = lane
            self.isBehindAll = isBehindAll
            self.wakeup = wakeup
            self.gate = gate
        }

        var isGranted: Bool { stage.withLock { $0 == .granted } }

        /// Whether a person is asked for a key that was to be unlocked, so that the operation is to be given up.
        var isRefused: Bool { refused.load(ordering: .acquiring) }

        /// When an operation that this one waits behind was done last.
        var latestDone: ContinuousClock.Instant? {
            gate.state.withLock { isBehindAll ? $0.latestDone : $0.lanes[lane]?.latestDone }
        }

        fileprivate func refuse() { refused.store(true, ordering: .releasing) }

        /// Gives the place back, or leaves the lane. The last call, at the end of the operation, counts; further ones do
        /// nothing.
        func giveBack(_ end: End = .abandoned) { gate.giveBack(self, end) }
    }

    /// Takes a place or queues for one; `wakeup` is woken when the place is there.
    /// - Parameter isBehindAll: Whether it waits behind every operation with a secret key, for gpg-agent is busy with them; else
    ///   behind those in its lane: gpg may be waiting for another prompt to close, whatever else goes on.
    func request(_ wakeup: Wakeup, in lane: Lane, isBehindAll: Bool = false) -> Pass {
        let pass = Pass(lane, isBehindAll: isBehindAll, wakeup: wakeup, gate: self)
        state.withLock { state in
            if state.lanes[lane, default: LaneState()].waiting.isEmpty { state.turns.append(lane) }
            state.lanes[lane, default: LaneState()].waiting.append(pass)
            if case .unlockedKeys = lane {
                state.unattended.append(pass)
                if state.lanes.contains(where: { $0.value.asking > 0 && lane.isStuck(behind: $0.key) }) {
                    pass.refuse()
                }
            }
            // Nobody but this one can have waited for a place that was free: it sees for itself that it has it.
            _ = state.grant()
        }
        return pass
    }

    /// Lock order: the gate, then a pass.
    private func giveBack(_ pass: Pass, _ end: End) {
        let lane = pass.lane
        let woken: [Pass] = state.withLock { state in
            let before = pass.stage.withLock { stage in
                defer { stage = end == .waitsForPerson ? .asking : .returned }
                return stage
            }
            switch before {
            case .returned: return []
            case .waiting: state.lanes[lane]?.waiting.removeAll { $0 === pass }
            case .asking: state.lanes[lane]?.asking -= 1
            case .granted:
                state.free += 1
                state.lanes[lane]?.granted -= 1
            }
            var woken: [Pass] = []
            if end == .done, lane != .withoutAsking {
                state.latestDone = .now
                state.lanes[lane]?.latestDone = state.latestDone
            }
            switch end {
            case .done: state.lanes[lane]?.isUnlocked = true
            case .waitsForPerson:
                state.lanes[lane]?.asking += 1
                state.lanes[lane]?.isUnlocked = false
                woken = state.unattended.filter { $0.lane.isStuck(behind: lane) }
                for pass in woken { pass.refuse() }
                if let turn = state.turns.firstIndex(of: lane) {
                    state.turns.append(state.turns.remove(at: turn))
                }
            case .abandoned: break
            }
            if end != .waitsForPerson, case .unlockedKeys = lane {
                state.unattended.removeAll { $0 === pass }
            }
            woken += state.grant()
            state.forgetIfIdle(lane)
            return woken
        }
        for pass in woken { pass.wakeup.wake() }
    }
}
