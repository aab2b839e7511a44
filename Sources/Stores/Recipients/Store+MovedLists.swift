import Glibc
import OpenPGP
import System
public import SystemPackage

/// A folder that its user moves or exchanges in the mount, with whose lists goes what was agreed to of them.
///
/// The record names lists by their paths. Before names change on disk it is noted in it which folder goes where, by
/// the inode: whoever reads the record after a crash sees by that whether it went. A folder that others bring to the new
/// place is another one.
public struct ListMove: Sendable, Equatable {
    /// What the record says of it while it is made.
    let note: RecordContent.Entry

    private enum State { case waiting, made, void }

    init(store: String, from: FilePath, to: FilePath, inode: UInt64, isExchange: Bool) {
        let digits = "0123456789abcdef".map(String.init)
        let target = to.bytes.map { digits[Int($0 >> 4)] + digits[Int($0 & 15)] }.joined()
        note = RecordContent.Entry(
            kind: .moving, store: store, file: from,
            fingerprints: [target, "\(inode)", isExchange ? "exchange" : "move", "\(getpid())"])
    }

    init(_ note: RecordContent.Entry) { self.note = note }

    private var target: FilePath? {
        guard note.fingerprints.count == 4, note.fingerprints[0].utf8.count % 2 == 0 else { return nil }
        let digits = Array(note.fingerprints[0].utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        return bytes.count * 2 == digits.count && !bytes.contains(0) ? FilePath(bytes: bytes) : nil
    }

    /// Whether whoever makes it has died. Then it must not wait: an inode that is freed may be given to another folder.
    fileprivate var isLeft: Bool {
        guard note.fingerprints.count == 4, let process = pid_t(note.fingerprints[3]) else { return true }
        return process != getpid() && kill(process, 0) != 0 && errno == ESRCH
    }

    /// Whether it went. The old place is looked at first: what is not there any more has gone before the second look.
    private func state(in root: Root) -> State {
        func isThere(_ path: FilePath) -> Bool {
            guard let status = (try? root.statusIfPresent(of: path)) ?? nil else { return false }
            return "\(status.identity.inode)" == note.fingerprints[1]
        }
        guard let target else { return .void }
        if isThere(note.file) { return .waiting }
        return isThere(target) ? .made : .void
    }

    /// The record after the move.
    /// - Parameter isOver: whoever makes the move has ended: what still waits did not go.
    func recorded(_ entries: [RecordContent.Entry], in root: Root, isOver: Bool) -> [RecordContent.Entry] {
        guard entries.contains(note) else { return entries }
        let state = state(in: root)
        if state == .waiting, !isOver { return entries }
        let rest = entries.filter { $0 != note }
        guard state == .made, let target else { return rest }
        let isExchange = note.fingerprints[2] == "exchange"
        return rest.compactMap { entry in
            var entry = entry
            var below = entry.file
            if below.removePrefix(note.file) {
                entry.file = target.pushing(below)
            } else if below.removePrefix(target) {
                if isExchange {
                    entry.file = note.file.pushing(below)
                } else if entry.kind != .offered {
                    // Of a folder that was there before.
                    return nil
                }
            }
            return entry
        }
    }
}

extension Store {
    /// Notes that the user is about to move a folder, or to exchange two: what was agreed to of their lists goes with
    /// them. Durable on return.
    /// - Returns: what `endMove` takes; nil where there is nothing that would have to go.
    public func beginMove(
        _ from: FilePath, to target: FilePath, isExchange: Bool
    ) throws(StoreError) -> ListMove? {
        guard options.record != nil, case .known(let agreed) = agreement else { return nil }
        let places = isExchange ? [from, target] : [from]
        var pinned: [RecordContent.Entry] = []
        var isConcerned = hasEntries(below: places + [target])
        for place in places {
            for file in try recipientFiles(below: place) {
                isConcerned = true
                guard !agreed.contains(where: { $0.file == file }) else { continue }
                // Agreed to because the list above was, which it may not lie below any more: what it names, and no more.
                let above = Self.agreed(file, agreed)
                let named = (try? listedFingerprints(in: file)) ?? []
                pinned.append(
                    RecordContent.Entry(
                        store: identifier, file: file, fingerprints: named.filter { above.contains($0) }))
            }
        }
        guard isConcerned else { return nil }
        let move = try StoreError.wrapping("stat", from) {
            ListMove(
                store: identifier, from: from, to: target, inode: try root.status(of: from).identity.inode,
                isExchange: isExchange)
        }
        let new = pinned
        try updateRecord { entries in
            entries + new.filter { one in !entries.contains { $0.kind == .agreed && $0.file == one.file } }
                + [move.note]
        }
        FaultPoint.mayDie("move.noted")
        return move
    }

    /// Ends what `beginMove` began, whether the folder went or not.
    public func endMove(_ move: ListMove) {
        FaultPoint.mayDie("move.made")
        let root = root
        // What cannot be written now is settled by whoever reads the record next.
        try? updateRecord { move.recorded($0, in: root, isOver: true) }
    }

    /// Ends moves that a crash has left.
    func endLeftMoves() {
        guard let notes = options.record?.moves(of: recordNames), !notes.isEmpty else { return }
        let root = root
        let moves = notes.map { ListMove($0) }
        try? updateRecord { entries in
            moves.reduce(entries) { $1.recorded($0, in: root, isOver: $1.isLeft) }
        }
    }

    private func hasEntries(below folders: [FilePath]) -> Bool {
        options.record?.files(of: recordNames).contains { file in
            folders.contains { file.starts(with: $0) }
        } ?? false
    }
}
