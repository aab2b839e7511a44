import Glibc
import OpenPGP
import Synchronization
public import SystemPackage

/// Whom each `.gpg-id` named when you last agreed to it: what a pull brings is compared with this.
///
/// A text file, one `.gpg-id` a line: the store's identifier, the path of the file, then the fingerprints, parted by
/// tabs. It is read anew when it changed, so that a command and a daemon agree.
public final class RecipientRecord: Sendable {
    private struct State {
        var identity: CiphertextIdentity?
        var lines: [Line] = []
    }

    struct Line: Equatable {
        var store: String
        var file: FilePath
        var fingerprints: [String]
    }

    private let path: FilePath
    private let state = Mutex(State())

    /// The record in a file, which need not be there yet.
    public init(file: FilePath) {
        path = file
    }

    /// The lines of a store; empty when nothing was recorded of it yet.
    func lines(ofStore store: String) -> [Line] {
        state.withLock { state in
            refresh(&state)
            return state.lines.filter { $0.store == store }
        }
    }

    /// Replaces what is recorded of a store.
    func replace(store: String, with lines: [Line]) throws(Errno) {
        try state.withLock { (state) throws(Errno) in
            refresh(&state)
            let next = state.lines.filter { $0.store != store } + lines
            guard next != state.lines else { return }
            try write(next)
            state.identity = nil
        }
    }

    private func refresh(_ state: inout State) {
        var raw = stat()
        guard path.withPlatformString({ stat($0, &raw) }) == 0 else {
            state = State()
            return
        }
        let identity = FileStatus(raw).identity
        guard identity != state.identity else { return }
        let raw_descriptor = path.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        guard raw_descriptor >= 0 else { return }
        let file = OwnedDescriptor(raw_descriptor)
        guard let bytes = try? file.readAll(limit: 1 << 24).bytes else { return }
        state.lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { text in
            let fields = text.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count >= 2 else { return nil }
            return Line(
                store: String(fields[0]), file: FilePath(String(fields[1])),
                fingerprints: fields[2...].map(String.init).filter { !$0.isEmpty })
        }
        state.identity = identity
    }

    /// Makes a folder and those above it; a failure shows when the file is opened.
    private static func makeFolder(_ folder: FilePath) {
        guard !folder.isEmpty, folder.withPlatformString({ access($0, F_OK) }) != 0 else { return }
        makeFolder(folder.removingLastComponent())
        _ = folder.withPlatformString { mkdir($0, 0o700) }
    }

    private func write(_ lines: [Line]) throws(Errno) {
        let text = lines.map { line in
            ([line.store, line.file.string] + line.fingerprints).joined(separator: "\t") + "\n"
        }.joined()
        let temporary = FilePath(path.string + ".new")
        Self.makeFolder(path.removingLastComponent())
        let raw = temporary.withPlatformString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        guard raw >= 0 else { throw Errno.last }
        let file = OwnedDescriptor(raw)
        try file.writeDurably(Array(text.utf8), accessed: nil, modified: nil)
        guard rename(temporary.string, path.string) == 0 else { throw Errno.last }
    }
}

/// A `.gpg-id` that names others than when you last agreed to it.
public struct ForeignRecipients: Sendable, Equatable {
    /// The file, relative to the store.
    public var file: FilePath
    /// Fingerprints of keys that were added.
    public var added: [String]
    /// Fingerprints of keys that were removed.
    public var removed: [String]
}

extension Store {
    /// Notes what the `.gpg-id` files say now as agreed to, where nothing was noted of this store yet: before that,
    /// nothing can have been added behind anybody's back.
    public func recordRecipientsAtFirstSight() throws(StoreError) {
        guard let record = options.record, record.lines(ofStore: identifier).isEmpty else { return }
        do {
            try recordRecipients()
        } catch {
            // Without recipients.confirm the record only tells of changes.
            if options.mustConfirm { throw error }
        }
    }

    /// Notes what the `.gpg-id` files say now as agreed to.
    public func recordRecipients() throws(StoreError) {
        guard let record = options.record else { return }
        var lines: [RecipientRecord.Line] = []
        for file in try recipientFiles(below: FilePath()) {
            lines.append(
                RecipientRecord.Line(
                    store: identifier, file: file, fingerprints: fingerprints(in: file) ?? []))
        }
        do {
            try record.replace(store: identifier, with: lines)
        } catch {
            throw StoreError(.system(error), "cannot keep who the recipients are: \(error).")
        }
    }

    /// Notes what one `.gpg-id` says now as agreed to; others that changed still wait to be confirmed.
    public func recordRecipients(of file: FilePath) throws(StoreError) {
        guard let record = options.record else { return }
        var lines = record.lines(ofStore: identifier)
        guard !lines.isEmpty else { return try recordRecipients() }
        lines.removeAll { $0.file == file }
        if let now = fingerprints(in: file) {
            lines.append(RecipientRecord.Line(store: identifier, file: file, fingerprints: now))
        }
        do {
            try record.replace(store: identifier, with: lines)
        } catch {
            throw StoreError(.system(error), "cannot keep who the recipients are: \(error).")
        }
    }

    /// Agrees to these keys, too, in a file that is about to name them.
    func agree(to recipients: [Recipient], in file: FilePath) throws(StoreError) {
        guard let record = options.record else { return }
        var lines = record.lines(ofStore: identifier)
        guard !lines.isEmpty else { return }
        let new = recipients.map(\.key.fingerprint.description)
        let old = Self.agreed(file, lines)
        lines.removeAll { $0.file == file }
        lines.append(
            RecipientRecord.Line(
                store: identifier, file: file, fingerprints: old + new.filter { !old.contains($0) }))
        do {
            try record.replace(store: identifier, with: lines)
        } catch {
            throw StoreError(.system(error), "cannot keep who the recipients are: \(error).")
        }
    }

    /// The `.gpg-id` files that name others than when you last agreed to them.
    public func foreignRecipients() throws(StoreError) -> [ForeignRecipients] {
        guard let record = options.record else { return [] }
        let lines = record.lines(ofStore: identifier)
        guard !lines.isEmpty else { return [] }
        var found: [ForeignRecipients] = []
        for file in try recipientFiles(below: FilePath()) {
            guard let now = fingerprints(in: file) else { continue }
            let agreed = Self.agreed(file, lines)
            let isKnown = lines.contains { $0.file == file }
            let change = ForeignRecipients(
                file: file, added: now.filter { !agreed.contains($0) },
                removed: isKnown ? agreed.filter { !now.contains($0) } : [])
            if !change.added.isEmpty || !change.removed.isEmpty { found.append(change) }
        }
        return found
    }

    /// With `recipients.confirm`, refuses recipients that were added to their file since you last agreed to it.
    func checkConfirmed(_ list: RecipientList) throws(StoreError) {
        guard options.mustConfirm, let file = list.file, let record = options.record else { return }
        let lines = record.lines(ofStore: identifier)
        guard !lines.isEmpty else { return }
        let agreed = Self.agreed(file, lines)
        let added = list.recipients.filter { !agreed.contains($0.key.fingerprint.description) }
        guard let first = added.first else { return }
        throw StoreError(
            .unconfirmedRecipients,
            "\(first.key.title) was added to \(file.string) of the store \"\(name)\" and is not confirmed: see "
                + "passdir recipients show \(name), then run passdir recipients confirm \(name).")
    }

    /// Who was agreed to for a file; for one that is new, who was for the nearest one above it.
    private static func agreed(_ file: FilePath, _ lines: [RecipientRecord.Line]) -> [String] {
        var folder = file.removingLastComponent()
        while true {
            let candidate = folder.appending(recipientFileName)
            if let line = lines.first(where: { $0.file == candidate }) { return line.fingerprints }
            guard folder.removeLastComponent() else { return [] }
        }
    }

    /// nil where a line means no key of this keyring: then the file cannot be encrypted to either.
    private func fingerprints(in file: FilePath) -> [String]? {
        guard let bytes = try? read(file, limit: 1 << 20), let lines = RecipientFile(parsing: bytes)?.lines,
            let recipients = try? resolve(lines)
        else { return nil }
        return recipients.map(\.key.fingerprint.description)
    }
}
