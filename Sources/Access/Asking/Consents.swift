import Synchronization

/// What people have agreed to, and refused: never written anywhere, and forgotten when a store is locked.
final class Consents: Sendable {
    /// What a program is agreed to read itself is not what commands of passdir may read for it: whatever it starts can start
    /// these as if the program had.
    private struct ForProgram: Hashable {
        var rule: PlacedRule
        var program: Program
        var isThroughCommand: Bool

        init?(_ rule: PlacedRule, _ reader: Reader) {
            guard let program = reader.program else { return nil }
            (self.rule, self.program, isThroughCommand) = (rule, program, reader.command != nil)
        }
    }

    /// Of a command of passdir it is the command's.
    private struct ForRun: Hashable {
        var rule: PlacedRule
        var process: Int32
        var startTime: UInt64
        var program: Program?

        init(_ rule: PlacedRule, _ reader: Reader) {
            (self.rule, program) = (rule, reader.program)
            process = reader.command?.process ?? reader.process
            startTime = reader.command?.startTime ?? reader.startTime
        }
    }

    private struct State {
        /// When an agreement ends; nil: when the store is locked.
        var programs: [ForProgram: ContinuousClock.Instant?] = [:]
        var runs: [ForRun: Said] = [:]
        /// For how long a program is not asked about again, whichever of its runs was refused.
        var refusals: [ForProgram: ContinuousClock.Instant] = [:]
        /// The keys of `runs`, the oldest first.
        var order: [ForRun] = []
    }

    /// What was said of one run.
    private struct Said {
        var isAllowed: Bool
        var end: ContinuousClock.Instant?
    }

    /// A loop that starts a program for each secret is refused once, and a person who has come back is asked again.
    private static let pauseOfProgram = Duration.seconds(10)
    private static let pauseOfRun = Duration.seconds(300)
    /// Runs of programs end untold.
    private static let mostRuns = 1024
    private let state = Mutex(State())

    /// What was said of reads like this one; nil where a person is to be asked.
    func answer(_ rule: PlacedRule, _ reader: Reader) -> Bool? {
        guard !reader.isUnknown else { return nil }
        return state.withLock { state in
            if let said = state.runs[ForRun(rule, reader)], said.end.map({ $0 > .now }) ?? true {
                return said.isAllowed
            }
            guard let key = ForProgram(rule, reader) else { return nil }
            if let end = state.refusals[key] {
                if end > .now { return false }
                state.refusals[key] = nil
            }
            guard let end = state.programs[key] else { return nil }
            guard let end, end <= .now else { return true }
            state.programs[key] = nil
            return nil
        }
    }

    /// Keeps an answer. Of a process that cannot be seen nothing is kept: another would have the same number.
    func keep(_ answer: Answer, _ rule: PlacedRule, _ reader: Reader) {
        guard !reader.isUnknown else { return }
        let end: ContinuousClock.Instant?
        switch (answer, rule.rule.outcome) {
        case (.agreed, .ask(.untilLock)): end = nil
        case (.agreed, .ask(.lasting(let time))): end = .now + time
        case (.agreed, _), (.once, _): return keep(Said(isAllowed: true), forRun: ForRun(rule, reader))
        case (.left, _): return
        case (.no, _), (.nobody, _):
            keep(Said(isAllowed: false, end: .now + Self.pauseOfRun), forRun: ForRun(rule, reader))
            guard answer == .no, let key = ForProgram(rule, reader) else { return }
            return state.withLock { $0.refusals[key] = .now + Self.pauseOfProgram }
        }
        guard let key = ForProgram(rule, reader) else {
            return keep(Said(isAllowed: true), forRun: ForRun(rule, reader))
        }
        state.withLock { $0.programs[key] = .some(end) }
    }

    private func keep(_ said: Said, forRun run: ForRun) {
        state.withLock { state in
            if state.runs.updateValue(said, forKey: run) == nil { state.order.append(run) }
            while state.order.count > Self.mostRuns { state.runs[state.order.removeFirst()] = nil }
        }
    }

    /// Forgets what was said of the secrets of stores.
    func forget(_ isOf: (_ store: String) -> Bool) {
        func isGone(_ rule: PlacedRule) -> Bool {
            isOf(String(rule.place.unicodeScalars.prefix { $0 != "/" }))
        }
        state.withLock { state in
            state.programs = state.programs.filter { !isGone($0.key.rule) }
            state.refusals = state.refusals.filter { !isGone($0.key.rule) }
            state.runs = state.runs.filter { !isGone($0.key.rule) }
            state.order.removeAll { isGone($0.rule) }
        }
    }
}
