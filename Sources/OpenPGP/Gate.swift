import Synchronization

/// Lets a bounded number of gpg processes run at a time, first come first served.
///
/// gpg-agent keeps secrets in 64 KiB of locked memory; under many parallel requests it runs out of it and answers
/// "no secret key".
final class Gate: Sendable {
    private struct State {
        var free: Int
        /// Who waits, in order.
        var waiting: [Pass] = []
    }
    private let state: Mutex<State>

    init(places: Int) {
        state = Mutex(State(free: max(places, 1)))
    }

    /// One place, or a place in the queue.
    final class Pass: Sendable {
        enum Stage { case waiting, granted, returned }
        fileprivate let stage: Mutex<Stage>
        fileprivate let wakeup: Wakeup
        private let gate: Gate

        fileprivate init(_ stage: Stage, wakeup: Wakeup, gate: Gate) {
            self.stage = Mutex(stage)
            self.wakeup = wakeup
            self.gate = gate
        }

        var isGranted: Bool { stage.withLock { $0 == .granted } }

        /// Gives the place back, or leaves the queue; more calls do nothing.
        func giveBack() { gate.giveBack(self) }
    }

    /// Takes a place or queues for one; `wakeup` is woken when the place is there.
    func request(_ wakeup: Wakeup) -> Pass {
        state.withLock { state in
            if state.free > 0 {
                state.free -= 1
                return Pass(.granted, wakeup: wakeup, gate: self)
            }
            let pass = Pass(.waiting, wakeup: wakeup, gate: self)
            state.waiting.append(pass)
            return pass
        }
    }

    /// Lock order: the gate, then a pass.
    private func giveBack(_ pass: Pass) {
        let next: Pass? = state.withLock { state in
            let before = pass.stage.withLock { stage in
                defer { stage = .returned }
                return stage
            }
            switch before {
            case .returned: return nil
            case .waiting:
                state.waiting.removeAll { $0 === pass }
                return nil
            case .granted:
                guard !state.waiting.isEmpty else {
                    state.free += 1
                    return nil
                }
                let next = state.waiting.removeFirst()
                next.stage.withLock { $0 = .granted }
                return next
            }
        }
        next?.wakeup.wake()
    }
}
