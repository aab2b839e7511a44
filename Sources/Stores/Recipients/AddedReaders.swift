import OpenPGP
import SystemPackage

/// Whom a change of recipients adds, by the ids of their keys, and which ciphertexts were for them before it began: what
/// else is for them while the change is under way is so by the change.
///
/// Lies in the notes of the change (`ChangeNotes`).
struct AddedReaders: Sendable, Equatable {
    static let name = "added"

    /// Of all their keys and subkeys.
    var keyIDs: Set<UInt64> = []
    /// Ciphertexts that were for one of them, or for hidden keys, when the change began; they keep their identity where
    /// they are renamed.
    var before: Set<String> = []

    /// Looks at all secrets of the store: they may be moved anywhere.
    init(adding recipients: [Recipient], in store: Store) throws(StoreError) {
        keyIDs = Set(recipients.flatMap(\.key.subkeys).map(\.keyID))
        guard !keyIDs.isEmpty else { return }
        for secret in try store.secrets(below: FilePath(), nested: true) {
            guard let ids = try? store.recipientKeyIDs(of: secret), concerns(ids),
                let content = try? store.contentIdentity(of: secret)
            else { continue }
            before.insert(content.text)
        }
    }

    init?(_ bytes: [UInt8]) {
        let fields = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard let end = fields.firstIndex(of: "before") else { return nil }
        keyIDs = Set(fields[..<end].compactMap { UInt64($0, radix: 16) })
        before = Set(fields[(end + 1)...])
    }

    var bytes: [UInt8] {
        let fields = keyIDs.sorted().map { String($0, radix: 16) } + ["before"] + before.sorted()
        return fields.flatMap { Array($0.utf8) + [0] }
    }

    /// Whether a message with these ids may be for one of them.
    func concerns(_ ids: [UInt64]) -> Bool { ids.contains { $0 == 0 || keyIDs.contains($0) } }

    /// Whether a message is for one of them that the list of its place does not name.
    func isStray(_ ids: [UInt64], allowed: [Recipient]) -> Bool {
        let named = Set(allowed.flatMap(\.key.subkeys).map(\.keyID))
        return ids.contains { keyIDs.contains($0) && !named.contains($0) }
    }
}
