import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// A list of recipients that was changed here and on the remote, as people look at it.
public struct PartedRecipients: Sendable {
    /// The folder that it is for: `STORE/FOLDER`.
    public var place: String
    /// What stood in it when the two sides parted.
    public var base: [String]
    /// What stands in it here.
    public var ours: [String]
    /// What stands in it on the remote.
    public var theirs: [String]
    /// Whether what the remote has there is damaged: not text in UTF-8. Then `theirs` is empty.
    public var isTheirsDamaged: Bool
    let list: PartedList

    /// What both sides did: whom either added, without whom either removed.
    public var merged: [String] {
        let kept = ours.filter { theirs.contains($0) || !base.contains($0) }
        return kept + theirs.filter { !base.contains($0) && !ours.contains($0) }
    }
}

extension Sharing {
    /// The lists of a store that keep it apart from its remote, as that was last fetched.
    /// - Parameter use: Whether they are to be settled.
    public func partedLists(
        ofStore name: String, for use: StoreUse
    ) throws(DaemonError) -> [PartedRecipients] {
        let store = try store(named: name, for: use)
        let committer = try committer(of: store)
        let lists = try DaemonError.wrapping {
            try Self.wait { () throws(CommitError) in try await committer.partedLists() }
        }
        return lists.map { list in
            func lines(_ bytes: [UInt8]?) -> [String] {
                bytes.flatMap { RecipientFile(parsing: $0) }?.lines ?? []
            }
            let isTheirsDamaged = list.theirs.map { RecipientFile(parsing: $0) == nil } ?? false
            let folder = list.file.removingLastComponent()
            return PartedRecipients(
                place: folder.isEmpty ? name : "\(name)/\(folder.string)", base: lines(list.base),
                ours: lines(list.ours), theirs: lines(list.theirs),
                isTheirsDamaged: isTheirsDamaged, list: list)
        }
    }

    /// Merges what the remote has; of these lists the store's own stay, where the remote's still are those that were
    /// shown.
    public func merge(_ settled: [PartedRecipients], ofStore name: String) throws(DaemonError) {
        let store = try store(named: name, for: .writing)
        let committer = try committer(of: store)
        let lists = settled.map(\.list)
        let complaint = try DaemonError.wrapping {
            try Self.wait { () throws(CommitError) in await committer.synchronizeKeeping(lists) }
        }
        if let complaint { throw DaemonError(message: complaint) }
        // Where a daemon runs, it sees at once that they are together again.
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        _ = try? client.synchronize([name])
    }
}
