import Glibc
public import OpenPGP
public import Stores
import Sync
public import SystemPackage

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
    public func check(_ path: String, days: Int) throws(DaemonError) -> CheckReport {
        let place = try place(path)
        let found = try drift(place)
        let limit = Int64(time(nil)) + Int64(min(max(days, 0), 1 << 32)) * 86_400
        let keys = try keys(ofStore: place.store.name).filter { key in
            switch key.state {
            case .usable, .expiring: key.expires.map { $0.seconds <= limit } ?? false
            default: true
            }
        }
        return CheckReport(
            total: found.total, drift: found.drift.map { report($0.secret, $0.recipients, place) },
            problems: found.problems, keys: keys)
    }

    /// Encrypts those secrets anew.
    /// - Returns: How many, and those that were left alone because they cannot be decrypted here.
    public func fix(
        _ path: String, skipsUnreadable: Bool, cancellation: Cancellation,
        progress: @escaping @Sendable (Reencryption.Progress) -> Void
    ) throws(DaemonError) -> (count: Int, skipped: [FilePath]) {
        let place = try place(path)
        let secrets = try drift(place).drift.filter { $0.match == .different }.map(\.secret)
        guard !secrets.isEmpty else { return (0, []) }
        do throws(StoreError) {
            let unreadable = skipsUnreadable ? Set(try place.store.unreadable(secrets)) : []
            let work = try Reencryption.begin(
                following: secrets, in: place.store, skipsUnreadable: skipsUnreadable)
            let skipped = try run(work, place.store, cancellation, progress)
            return (
                secrets.count - unreadable.count - skipped.count,
                skipped + unreadable.sorted { $0.string < $1.string }
            )
        } catch {
            throw DaemonError(message: error.message)
        }
    }

    private struct Drift {
        var secret: FilePath
        var recipients: [Recipient]
        var match: RecipientMatch
    }

    private func drift(_ place: Place) throws(DaemonError) -> (total: Int, drift: [Drift], problems: [String])
    {
        let store = place.store
        var found: [Drift] = []
        var problems: [String] = []
        var lists: [FilePath: [Recipient]?] = [:]
        let secrets: [FilePath]
        do {
            secrets = try store.secrets(below: place.folder, nested: true)
        } catch {
            throw DaemonError(message: error.message)
        }
        for secret in secrets {
            let folder = secret.removingLastComponent()
            do throws(StoreError) {
                if lists[folder] == nil {
                    lists[folder] = .some(nil)
                    lists[folder] = .some(try store.recipients(for: secret).recipients)
                }
                guard let recipients = lists[folder] ?? nil else { continue }
                let ids = try store.recipientKeyIDs(of: secret)
                let match = RecipientMatch(actual: ids, recipients: recipients, at: Int64(time(nil)))
                if match != .same {
                    found.append(Drift(secret: secret, recipients: recipients, match: match))
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
        let extra = Set(ids).subtracting(expected.map(\.0)).subtracting([0]).sorted()
        let name = secret.string.hasSuffix(".gpg") ? String(secret.string.dropLast(4)) : secret.string
        return DriftReport(
            secret: "\(place.store.name)/\(name)",
            missing: ids.contains(0) ? [] : expected.filter { !ids.contains($0.0) }.map(\.1),
            extra: extra.map(title), isHidden: ids.contains(0))
    }

    private func title(_ id: UInt64) -> String {
        let digits = String(id, radix: 16, uppercase: true)
        let text = String(repeating: "0", count: 16 - digits.count) + digits
        return (try? engine.keys(matching: ["0x" + text], secretOnly: false))?.first?.title ?? text
    }

    /// The `.gpg-id` files of a store that name others than when you last agreed to them.
    public func foreignChanges(ofStore name: String) throws(DaemonError) -> [RecipientChangeReport] {
        let store = try store(named: name)
        guard let reports = RecipientWatch.look(at: store) else {
            throw DaemonError(message: "the .gpg-id files of the store \"\(name)\" cannot be read")
        }
        return reports
    }

    /// Agrees to what the `.gpg-id` files of a store say now.
    public func confirm(store name: String) throws(DaemonError) {
        do {
            try store(named: name).recordRecipients()
        } catch let error as StoreError {
            throw DaemonError(message: error.message)
        } catch let error as DaemonError {
            throw error
        } catch {
            throw DaemonError(message: "\(error)")
        }
    }
}
