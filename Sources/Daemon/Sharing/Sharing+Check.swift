import Glibc
public import OpenPGP
public import Stores
import Sync
import System
import SystemPackage

/// A secret that is not encrypted to just whom its `.gpg-id` names.
public struct DriftReport: Codable, Sendable, Equatable {
    /// `STORE/FOLDER/SECRET`.
    public var secret: String
    /// Recipients that cannot read it.
    public var missing: [String]
    /// Keys that can read it and are no recipients; an id where the key is not in the keyring.
    public var extra: [String]
    /// Whether some of the keys are hidden, so that nothing more can be said.
    public var isHidden: Bool
}

/// What `passdir recipients check` found.
public struct CheckReport: Codable, Sendable, Equatable {
    /// How many secrets were looked at.
    public var total: Int
    /// Those that are not for just their recipients.
    public var drift: [DriftReport]
    /// Why a folder's recipients cannot be told: one sentence each.
    public var problems: [String]
    /// Recipients' keys that expire soon, or can no longer be used.
    public var keys: [KeyReport]
}

extension Sharing {
    /// Compares every secret in a folder and below it with its `.gpg-id`, by the packets; no key is needed.
    /// - Parameter days: Keys that expire within so many days are listed.
    /// - Parameter use: Whether what differs is to be re-encrypted.
    public func check(_ path: String, days: Int, for use: StoreUse) throws(DaemonError) -> CheckReport {
        let place = try place(path, for: use)
        let found = try drift(place)
        let limit = Int64(time(nil)) + Int64(min(max(days, 0), 1 << 32)) * 86_400
        var problems = found.problems
        var keys: [KeyReport] = []
        do throws(DaemonError) {
            keys = try self.keys(ofStore: place.store.name).filter { key in
                switch key.state {
                case .usable, .expiring: key.expires.map { $0.seconds <= limit } ?? false
                default: true
                }
            }
        } catch {
            // A list that cannot be used keeps nobody from what can be said of the others.
            if !problems.contains(error.message) { problems.append(error.message) }
        }
        return CheckReport(
            total: found.total, drift: found.drift.map { report($0.secret, $0.recipients, place) },
            problems: problems, keys: keys)
    }

    /// Works out what `fix` would do; changes nothing.
    public func planFix(_ path: String) throws(DaemonError) -> PlannedFix {
        let place = try place(path, for: .writing)
        try checkUnlocked(place.store)
        let found = try drift(place).drift.filter { $0.match == .different }
        var unagreed: [FilePath: [Recipient]] = [:]
        for drift in found {
            guard let now = drift.file else { continue }
            let file = place.store.agreedFile(for: drift.secret, now: now)
            if unagreed[file] == nil { unagreed[file] = place.store.notAgreed(drift.recipients, in: file) }
        }
        var secrets: [DifferingSecret] = []
        try DaemonError.wrapping {
            for drift in found {
                if let one = try place.store.differing(drift.secret, readers: drift.recipients) {
                    secrets.append(one)
                }
            }
        }
        return PlannedFix(
            place: place.title, folder: place.folder, secrets: secrets,
            unagreed: unagreed.filter { !$0.value.isEmpty },
            lists: Dictionary(
                found.map { ($0.secret, RecipientList(file: $0.file, recipients: $0.recipients)) },
                uniquingKeysWith: { $1 }), store: place.store)
    }

    /// Encrypts those secrets anew that were shown, to whom was shown.
    /// - Parameter accepting: The keys that the user has agreed to just now, by their fingerprints.
    /// - Returns: How many, and those that were left alone.
    public func fix(
        _ planned: PlannedFix, accepting: Set<Fingerprint>, skipsUnreadable: Bool, cancellation: Cancellation,
        progress: @escaping @Sendable (Reencryption.Progress) -> Void
    ) throws(DaemonError) -> (count: Int, outcome: ChangeOutcome) {
        let store = planned.store
        guard !planned.secrets.isEmpty else { return (0, ChangeOutcome(place: planned.place)) }
        try checkUnlocked(store)
        let judged = try checkMayChange(planned.folder, store)
        return try DaemonError.wrapping {
            for (secret, list) in planned.lists where try store.list(for: secret) != list {
                throw StoreError(
                    .unstable,
                    "the recipients of \(secret.string) have just changed: look at them again. Nothing was changed."
                )
            }
            for (file, keys) in planned.unagreed { try store.accept(keys, in: file, accepting) }
            for (secret, list) in planned.lists { try store.checkAgreed(list, for: secret) }
            let secrets = planned.secrets.map(\.secret)
            let unreadable = skipsUnreadable ? Set(try store.unreadable(secrets)) : []
            let work = try Reencryption.begin(
                following: planned.secrets, in: store, skipsUnreadable: skipsUnreadable)
            var outcome = try run(work, judged, store, planned.place, cancellation, progress)
            outcome.skipped += unreadable.sorted { $0.string < $1.string }
            return (secrets.count - outcome.skipped.count - outcome.left.count, outcome)
        }
    }

    private typealias Drifts = (total: Int, drift: [Drift], problems: [String])

    private struct Drift {
        var secret: FilePath
        /// The `.gpg-id` that applies; nil where PASSWORD_STORE_KEY overrides it.
        var file: FilePath?
        var recipients: [Recipient]
        var match: RecipientMatch
    }

    private func drift(_ place: Place) throws(DaemonError) -> Drifts {
        let store = place.store
        var found: [Drift] = []
        var problems: [String] = []
        var lists: [FilePath: RecipientList?] = [:]
        let secrets = try DaemonError.wrapping { try store.secrets(below: place.folder, nested: true) }
        for secret in secrets {
            let folder = secret.removingLastComponent()
            do throws(StoreError) {
                if lists[folder] == nil {
                    lists[folder] = .some(nil)
                    lists[folder] = .some(try store.list(for: secret))
                }
                guard let list = lists[folder] ?? nil else { continue }
                let ids = try store.recipientKeyIDs(of: secret)
                let match = RecipientMatch(actual: ids, recipients: list.recipients, at: Int64(time(nil)))
                if match != .same {
                    found.append(
                        Drift(
                            secret: secret, file: list.file, recipients: list.recipients, match: match))
                }
            } catch {
                if !problems.contains(error.message) { problems.append(error.message) }
            }
        }
        return (secrets.count, found, problems)
    }

    private func report(_ secret: FilePath, _ recipients: [Recipient], _ place: Place) -> DriftReport {
        let ids = (try? place.store.recipientKeyIDs(of: secret)) ?? []
        let now = Int64(time(nil))
        let expected = recipients.compactMap { recipient in
            recipient.encryptionSubkey(at: now).map { ($0.keyID, recipient.key.title) }
        }
        let former = recipients.flatMap { $0.formerKeyIDs(at: now) }
        let extra = Set(ids).subtracting(expected.map(\.0)).subtracting(former + [0]).sorted()
        return DriftReport(
            secret: "\(place.store.name)/\(place.store.visiblePath(of: secret))",
            missing: ids.contains(0) ? [] : expected.filter { !ids.contains($0.0) }.map(\.1),
            extra: extra.map(title), isHidden: ids.contains(0))
    }

    private func title(_ id: UInt64) -> String {
        let digits = String(id, radix: 16, uppercase: true)
        let text = String(repeating: "0", count: 16 - digits.count) + digits
        return (try? engine.keys(matching: ["0x" + text], secretOnly: false))?.first?.title ?? text
    }

    /// The `.gpg-id` files of a store that name others than when you last agreed to them.
    public func foreignChanges(ofStore name: String) throws(DaemonError) -> Unconfirmed {
        let store = try store(named: name, for: .reading)
        return try DaemonError.wrapping {
            let waiting = unsavedPaths(inStore: name)
            let snapshot = try store.snapshot(alsoFor: waiting)
            return Unconfirmed(
                changes: snapshot.changes.map { RecipientChangeReport($0, store) },
                isLost: store.lostAgreement != nil, waiting: waiting, snapshot: snapshot)
        }
    }

    /// Agrees to what was shown, and to nothing that came meanwhile.
    public func confirm(_ shown: Unconfirmed, store name: String) throws(DaemonError) {
        let store = try store(named: name, for: .reading)
        let folders = shown.changes.map { FilePath($0.file).removingLastComponent() }
        for folder in shown.isLost ? [FilePath()] : folders { try checkMayChange(folder, store) }
        try DaemonError.wrapping {
            guard try store.snapshot(alsoFor: shown.waiting) == shown.snapshot else {
                throw StoreError(
                    .unstable,
                    "the recipients of the store \"\(name)\" have just changed: look at them again."
                )
            }
            try store.agree(to: shown.snapshot)
        }
    }
}

/// What waits to be agreed to, as it is shown.
public struct Unconfirmed: Sendable {
    /// One for each `.gpg-id` that changed.
    public var changes: [RecipientChangeReport]
    /// Whether it is not known any more what was agreed to before.
    public var isLost: Bool
    /// Whether there is something that can be agreed to.
    public var canBeAgreed: Bool { isLost || changes.contains { !$0.added.isEmpty || !$0.removed.isEmpty } }
    /// Those files in which something waits that cannot be agreed to as it is.
    public var unusable: [RecipientChangeReport] {
        changes.filter { !$0.unknown.isEmpty || $0.problem != nil }
    }
    /// What could not be saved in the mount when it was looked at.
    let waiting: [FilePath]
    let snapshot: RecipientSnapshot
}
