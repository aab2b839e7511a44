import Contents
import Glibc
public import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
public import System
public import SystemPackage

/// Looks at the passwords of stores: how old, strong and unique they are. Access rules, locks and the log apply to whoever
/// started the command.
public struct HealthCheck: Sendable {
    /// What a check is about.
    public enum Depth: Sendable {
        /// Names and ages: nothing is decrypted.
        case names
        /// Each secret as it is now.
        case texts
        /// Also earlier versions, to find the last change of the password among those of the secret.
        case history
    }

    /// What is being done.
    public enum Step: String, Sendable {
        /// Secrets as they are now.
        case secrets = "looking at secrets"
        /// Their earlier versions.
        case versions = "looking at earlier versions"
    }

    /// A password is weak that stands fewer guesses than this, by the estimate of `Strength`: the bound below which zxcvbn's
    /// score is less than 3.
    public static let weakBelow = 1e8

    /// So many threads read: more wait for the same gpg-agent.
    private static let threads = 4
    let depth: Depth
    private let oldAfter: RotationPeriod
    let budget: PromptBudget
    private let breaches: BreachFile?
    let marks: PasswordMarks
    private let now = Int64(time(nil))
    private let rules: PlacedSections
    let environment: [String: String]

    /// A check. The configuration says of folders how long their passwords may serve (`health.rotate`).
    /// - Parameters:
    ///   - oldAfter: how long a password may serve for which neither a `rotate:` field nor a rule is.
    ///   - breaches: a file with the SHA-1 list of Have I Been Pwned.
    ///   - limit: how often a person may be asked for a passphrase or a card.
    /// - Throws: one sentence where the file is no such list, or the configuration cannot be read.
    public init(
        _ depth: Depth, oldAfter: RotationPeriod, breaches: FilePath?, limit: Int,
        environment: [String: String]
    ) throws(DaemonError) {
        (self.depth, self.oldAfter, self.environment) = (depth, oldAfter, environment)
        budget = PromptBudget(limit)
        self.breaches = try breaches.map { path throws(DaemonError) in try BreachFile(path) }
        marks = try DaemonError.wrapping { try PasswordMarks() }
        rules = try DaemonError.wrapping { try Daemon.configuration(environment).placed("health") }
    }

    /// A secret on its way.
    struct Subject: Sendable {
        let place: SecretPlace
        let saved: Int64?
        /// What its folder's rule says.
        let rotates: RotationPeriod?
    }

    /// What became of looking at one.
    private enum Outcome: Sendable {
        case look(HealthLook)
        case unread(String)
    }

    /// Looks at all secrets of the stores; blocks. One secret a thread is in memory at a time.
    /// - Parameter progress: told of how many secrets a step is done, and of how many there are, by any thread.
    /// - Throws: what makes the whole of it pointless: a list of breaches that turns out to be none.
    public func run(
        _ stores: [StoreAccess], cancellation: Cancellation?,
        progress: @escaping @Sendable (Step, _ done: Int, _ total: Int) -> Void
    ) throws(DaemonError) -> HealthReport {
        var report = HealthReport()
        var (subjects, known): ([Subject], [KnownStore]) = ([], [])
        for access in stores {
            do {
                let history = try Self.history(of: access.store)
                let ages = try PasswordAge(access.store, history)
                known.append(KnownStore(access: access, history: history, ages: ages))
                subjects += try SecretPlace(access, FilePath(), namesFolder: true).secrets().map {
                    Subject(place: $0, saved: ages.saved($0.file), rotates: try rotates($0))
                }
            } catch {
                report.complaints.append("\(access.store.name) is not looked at: \(error)")
            }
        }
        guard depth != .names else {
            let exposed = review(known, [], &report, cancellation)
            report.entries = subjects.map { subject in
                var entry = entry(subject, exposed)
                entry.due = subject.saved.flatMap { saved in subject.rotates.map { $0.end(from: saved) } }
                if isOver(entry.due) { entry.findings.append(.due) }
                if !entry.exposedTo.isEmpty { entry.findings.append(.exposed) }
                if subject.rotates == nil, isOld(subject.saved) { entry.findings.append(.old) }
                return entry
            }
            return report
        }
        let outcomes = try look(at: subjects, cancellation, progress)
        var looks: [Looked] = []
        for (subject, outcome) in zip(subjects, outcomes) {
            switch outcome {
            case .look(let look): looks.append((subject, look))
            case .unread(let reason):
                report.unread.append(HealthReport.Unread(name: subject.place.name, reason: reason))
            case nil: break
            }
        }
        let changes = changes(of: looks, cancellation, progress)
        let exposed = review(known, looks, &report, cancellation)
        let names = Dictionary(grouping: looks.indices.filter { looks[$0].look.mark != nil }) {
            looks[$0].look.mark
        }
        report.entries = looks.indices.map { index in
            let (subject, look) = looks[index]
            var entry = entry(subject, exposed)
            let deadlines = look.deadlines.otherwise(rotating: subject.rotates)
            entry.changed = changes[index]
            entry.expires = deadlines.expires
            entry.due = entry.changed.flatMap { deadlines.due(changed: $0) }
            entry.score = look.strength?.score
            let same = look.mark.flatMap { names[$0] } ?? []
            entry.sameAs = same.filter { $0 != index }.map { looks[$0].subject.place.name }
            entry.findings = findings(look, deadlines, entry)
            return entry
        }
        if cancellation?.isCancelled != true { remember(known, looks, report) }
        return report
    }

    private func look(
        at subjects: [Subject], _ cancellation: Cancellation?,
        _ progress: @escaping @Sendable (Step, _ done: Int, _ total: Int) -> Void
    ) throws(DaemonError) -> [Outcome?] {
        struct State {
            var outcomes: [Outcome?]
            var done = 0
            var failure: DaemonError?
        }
        let state = Mutex(State(outcomes: Array(repeating: nil, count: subjects.count)))
        Workers.forEach(subjects.count, threads: Self.threads) { index in
            guard cancellation?.isCancelled != true, state.withLock({ $0.failure == nil }) else { return }
            let outcome: Outcome
            do throws(DaemonError) {
                let text = try plaintext(of: subjects[index].place, cancellation)
                do {
                    outcome = .look(try HealthLook(text, marks, breaches))
                } catch {
                    let failure = DaemonError(wrapping: error)
                    return state.withLock { $0.failure = failure }
                }
            } catch {
                outcome = .unread(error.message)
            }
            let done = state.withLock { state in
                state.outcomes[index] = outcome
                state.done += 1
                return state.done
            }
            progress(.secrets, done, subjects.count)
        }
        let end = state.withLock { ($0.outcomes, $0.failure) }
        if let failure = end.1 { throw failure }
        return end.0
    }

    private func plaintext(
        of secret: SecretPlace, _ cancellation: Cancellation?
    ) throws(DaemonError) -> Plaintext {
        try DaemonError.wrapping {
            try secret.judged(environment: environment) { place in
                try budget.read { (mayAsk) throws(StoreError) in
                    try place.store.plaintext(of: place.file, cancellation: cancellation, mayAsk: mayAsk)
                }
            }
        }
    }

    /// When each password was changed. A repository is for one thread.
    private func changes(
        of looks: [Looked], _ cancellation: Cancellation?,
        _ progress: (Step, _ done: Int, _ total: Int) -> Void
    ) -> [Int64?] {
        var changes = looks.map(\.subject.saved)
        var done = 0
        guard depth == .history else { return changes }
        for (_, group) in Dictionary(grouping: looks.indices, by: { looks[$0].subject.place.store.name }) {
            let store = looks[group[0]].subject.place.store
            guard let history = try? Self.history(of: store), let versions = try? history.textVersions(),
                let ages = try? PasswordAge(store, history)
            else { continue }
            for index in group {
                let place = looks[index].subject.place
                do {
                    changes[index] = try place.judged(environment: environment) { _ in
                        ages.changed(
                            place.file, history, versions[place.file] ?? [], looks[index].look.mark, marks,
                            budget, cancellation)
                    }
                } catch {
                    // Where it may not be read any more, what is known without reading counts.
                }
                done += 1
                progress(.versions, done, looks.count)
            }
        }
        return changes
    }

    /// The history of a store that is a repository of its own.
    private static func history(of store: Store) throws(StoreHistory.Failure) -> StoreHistory? {
        // Without one, the times of files are all that there is.
        guard (try? store.repositories.own()) != nil else { return nil }
        return try StoreHistory(store)
    }

    private func entry(_ subject: Subject, _ exposed: [String: [String]]) -> HealthReport.Entry {
        var entry = HealthReport.Entry(
            store: subject.place.store.name, path: subject.place.path.string, changed: subject.saved)
        entry.exposedTo = exposed[entry.name] ?? []
        return entry
    }

    private func rotates(_ secret: SecretPlace) throws(SettingsError) -> RotationPeriod? {
        try (rules.governing(secret.name) ?? rules.general)?.value(Catalogue.healthRotate)
    }

    private func isOver(_ moment: Int64?) -> Bool { moment.map { $0 <= now } ?? false }
    private func isOld(_ changed: Int64?) -> Bool { isOver(changed.map { oldAfter.end(from: $0) }) }

    private func findings(
        _ look: HealthLook, _ deadlines: Deadlines, _ entry: HealthReport.Entry
    ) -> [HealthReport.Finding] {
        HealthReport.Finding.allCases.filter { finding in
            switch finding {
            case .breached: look.isBreached
            case .expired: deadlines.isExpired(at: now)
            // A text without a password, such as a note, does not age, unless it says so itself.
            case .due: (look.mark != nil || look.deadlines.rotates != nil) && isOver(entry.due)
            case .weak: look.strength.map { $0.magnitude < log10(Self.weakBelow) } ?? false
            case .reused: !entry.sameAs.isEmpty
            case .exposed: !entry.exposedTo.isEmpty
            case .old: look.mark != nil && deadlines.rotates == nil && isOld(entry.changed)
            case .unclear: deadlines.isUnclear
            }
        }
    }
}
