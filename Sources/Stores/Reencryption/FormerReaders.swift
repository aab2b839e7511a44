import Glibc
import OpenPGP
import Synchronization
import System
import SystemPackage

/// From whom a change of recipients takes which secrets, by the packets that these had when it began. Own keys are left out:
/// who gives up a key still knows what it could read.
///
/// Lies in the notes of the change (`ChangeNotes`).
struct FormerReaders: Sendable {
    static let name = "former"

    struct Reader: Sendable, Equatable {
        /// The fingerprint, or the id where the key is not here.
        var key: String
        var name: String
        var keyIDs: Set<UInt64>
        var secrets: [FilePath]
    }

    private(set) var readers: [Reader] = []

    /// - Parameter planned: the secrets, and whom they will be for.
    init(of planned: [(secret: FilePath, next: [Recipient])], in store: Store) {
        var lost: [UInt64: [FilePath]] = [:]
        for (secret, next) in planned {
            guard let ids = try? store.recipientKeyIDs(of: secret) else { continue }
            let kept = next.flatMap(\.key.subkeys).map(\.keyID)
            for id in Set(ids) where id != 0 && !kept.contains(id) { lost[id, default: []].append(secret) }
        }
        guard !lost.isEmpty else { return }
        let patterns = lost.keys.map {
            "0x" + String(repeating: "0", count: $0.leadingZeroBitCount / 4) + String($0, radix: 16)
        }
        let keys = (try? store.engine.keys(matching: patterns, secretOnly: false)) ?? []
        for (id, secrets) in lost.sorted(by: { $0.key < $1.key }) {
            let key = keys.first { $0.subkeys.contains { $0.keyID == id } }
            guard key.map({ !Recipient(key: $0, named: "").isOwn }) ?? true else { continue }
            add(
                Reader(
                    key: key?.fingerprint.description ?? String(id, radix: 16),
                    name: key?.userIDs.first?.text ?? "", keyIDs: [id], secrets: secrets))
        }
    }

    private mutating func add(_ reader: Reader) {
        guard let index = readers.firstIndex(where: { $0.key == reader.key }) else {
            readers.append(reader)
            return
        }
        readers[index].keyIDs.formUnion(reader.keyIDs)
        let known = Set(readers[index].secrets)
        readers[index].secrets += reader.secrets.filter { !known.contains($0) }
    }

    /// Adds what others are of.
    mutating func add(_ other: FormerReaders) { other.readers.forEach { add($0) } }

    /// Fields, each ended by NUL, which no path holds.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for reader in readers {
            let ids = reader.keyIDs.sorted().map { String($0, radix: 16) }.joined(separator: " ")
            for word in [reader.key, reader.name, ids, "\(reader.secrets.count)"] {
                bytes += word.utf8.filter { $0 != 0 } + [0]
            }
            for secret in reader.secrets { bytes += secret.bytes + [0] }
        }
        return bytes
    }

    init(_ bytes: [UInt8]) {
        var fields = bytes.split(separator: 0, omittingEmptySubsequences: false)[...]
        while fields.count > 4 {
            let words = fields.prefix(4).map { String(decoding: $0, as: UTF8.self) }
            fields = fields.dropFirst(4)
            guard let count = Int(words[3]), count >= 0, count < fields.count else { return }
            add(
                Reader(
                    key: words[0], name: words[1],
                    keyIDs: Set(words[2].split(separator: " ").compactMap { UInt64($0, radix: 16) }),
                    secrets: fields.prefix(count).map { FilePath(bytes: $0) }))
            fields = fields.dropFirst(count)
        }
    }
}

extension Reencryption {
    /// Who could read secrets that the change has taken from them, once all is in place.
    public func formerReaders() -> [FormerReader] {
        guard let bytes = (try? notes.read(FormerReaders.name)) ?? nil else { return [] }
        let (now, left) = (Int64(time(nil)), state.withLock { $0.left.union($0.unreadable.keys) })
        return FormerReaders(bytes).readers.compactMap { reader in
            var former = FormerReader(
                key: reader.key, name: reader.name,
                keyIDs: reader.keyIDs.sorted().map { String($0, radix: 16) }, secrets: [])
            former.secrets = reader.secrets.compactMap { secret in
                guard !left.contains(secret), let ids = try? store.recipientKeyIDs(of: secret),
                    !former.canRead(ids), let content = store.contentID(of: secret)
                else { return nil }
                return FormerReader.Secret(path: secret.string, content: content, since: now)
            }
            return former.secrets.isEmpty ? nil : former
        }
    }

    /// Notes from whom secrets are taken that were saved to the old recipients meanwhile.
    func noteFormer(_ late: [FilePath], _ recipients: [Recipient]) throws(StoreError) {
        var all = FormerReaders(try notes.read(FormerReaders.name) ?? [])
        all.add(FormerReaders(of: late.map { ($0, recipients) }, in: store))
        try notes.write(all.bytes, as: FormerReaders.name)
    }
}
