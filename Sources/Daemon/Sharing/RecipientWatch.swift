import Glibc
import OpenPGP
import Stores
import Sync
import Synchronization
import SystemPackage

/// A `.gpg-id` that names others than when you last agreed to it.
public struct RecipientChangeReport: Codable, Sendable, Equatable {
    /// The file, relative to the store.
    public var file: String
    /// Who was added: `Ann <ann@example.org> (FINGERPRINT)`.
    public var added: [String]
    /// Who was removed.
    public var removed: [String]
    /// The commit that brought it; nil where it is not committed.
    public var commit: String?
    /// Who made that commit.
    public var author: String?
    /// The fingerprint of the key that signed the commit; nil where none did.
    public var signer: String?

    /// Writes every key, null where there is no value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(added, forKey: .added)
        try container.encode(removed, forKey: .removed)
        try container.encode(commit, forKey: .commit)
        try container.encode(author, forKey: .author)
        try container.encode(signer, forKey: .signer)
    }
}

/// Looks for `.gpg-id` files of a store that somebody else has changed, and for a change of recipients that was
/// interrupted, for `status`.
///
/// `status` must not wait for gpg or git: the look is taken on a thread of its own, and what it finds in a moment
/// is told now, what takes longer next time.
final class RecipientWatch: Sendable {
    private struct State {
        var reports: [RecipientChangeReport] = []
        var isLooking = false
        var looks: UInt64 = 0
    }

    private let store: Store
    private let state = Mutex(State())

    init(_ store: Store) {
        self.store = store
    }

    /// Notes who the recipients are at the first mount ever. Returns at once.
    func start() {
        look()
    }

    /// What is known, after at most 300 ms.
    var reports: [RecipientChangeReport] {
        let before = state.withLock { $0.looks }
        look()
        for _ in 0..<60 where state.withLock({ $0.looks == before }) { usleep(5000) }
        return state.withLock { $0.reports }
    }

    /// A sentence about a change that waits to be resumed or aborted, about what looks like one and is not this
    /// machine's, or about agreements that are lost; nil when there is none of it.
    var trouble: String? {
        guard Reencryption.isUnderWay(in: store) else {
            return Reencryption.foreignFolder(in: store) ?? store.lostAgreement
        }
        return
            "a change of recipients is under way or was interrupted: passdir recipients resume \(store.name) "
            + "finishes it, passdir recipients abort \(store.name) takes it back."
    }

    private func look() {
        let mustStart = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard mustStart else { return }
        do {
            try PlainThread.start(named: "recipients") { [self] in
                let found = Self.look(at: store)
                state.withLock { state in
                    state.reports = found ?? state.reports
                    state.isLooking = false
                    state.looks += 1
                }
            }
        } catch {
            state.withLock { $0.isLooking = false }
        }
    }

    /// nil when it cannot be told.
    static func look(at store: Store) -> [RecipientChangeReport]? {
        try? store.recordRecipientsAtFirstSight()
        guard let changes = try? store.snapshot().changes else { return nil }
        store.noteOffered(changes)
        return reports(changes, store)
    }

    /// What changed, as people know it.
    static func reports(_ changes: [ForeignRecipients], _ store: Store) -> [RecipientChangeReport] {
        changes.map { change in
            let origin = RecipientOrigin(of: change.file, in: store)
            return RecipientChangeReport(
                file: change.file.string, added: change.added.map { title($0, store) },
                removed: change.removed.map { title($0, store) }, commit: origin?.commit,
                author: origin?.author,
                signer: origin?.signer)
        }
    }

    private static func title(_ fingerprint: String, _ store: Store) -> String {
        (try? store.engine.keys(matching: [fingerprint], secretOnly: false))?.first?.title ?? fingerprint
    }
}
