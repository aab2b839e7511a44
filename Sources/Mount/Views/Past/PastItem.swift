import Fuse
import Stores
import System
import SystemPackage

/// What a node stands for that shows a history. It never changes: where a name comes to mean another state, that is another node,
/// as if the file had been replaced, and who is in the folder, or has the file open, goes on with the one that it was.
///
/// Indirect, so that it takes no more than a pointer of each `Node`: there may be very many, and nearly all have none.
indirect enum PastItem: Sendable {
    /// `at`: its entries are whatever people may mean by a time.
    case top
    /// `at/WHEN`: its entries are the stores that have such a state.
    case point(String)
    /// The versions of a secret, by its path in the mount and on disk: that of today, or the last one.
    case versions(MountedStore, path: FilePath, backing: FilePath)
    /// What a commit holds.
    case thing(PastThing)

    /// What it is as a node.
    var kind: Node.Kind {
        switch self {
        case .top, .point, .versions: .directory
        case .thing(let thing): thing.kind
        }
    }

    /// Whose past it is; nil where it is that of all stores.
    var store: MountedStore? {
        switch self {
        case .top, .point: nil
        case .versions(let store, _, _): store
        case .thing(let thing): thing.store
        }
    }
}

/// What a commit holds in one place.
struct PastThing: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        case folder(PastFolder)
        case secret(PastBlob)
        /// Shown as it is.
        case plain(PastBlob)
        /// With its target as the mount shows it.
        case link([UInt8])
    }

    let store: MountedStore
    let commit: PastCommit
    /// As the mount shows it: what it was called at the commit; of a version what it is listed under.
    let path: FilePath
    /// What it was called on disk at the commit.
    let backing: FilePath
    let content: Content

    var kind: Node.Kind {
        switch content {
        case .folder: .directory
        case .secret, .plain: .plain
        case .link: .symbolicLink
        }
    }

    static func == (one: PastThing, other: PastThing) -> Bool {
        one.store === other.store && one.commit == other.commit && one.content == other.content
            && one.backing == other.backing && one.path == other.path
    }
}

extension PastItem: Equatable {
    static func == (one: PastItem, other: PastItem) -> Bool {
        switch (one, other) {
        case (.top, .top): true
        case (.point(let one), .point(let other)): one == other
        case (
            .versions(let one, let path, let backing), .versions(let other, let otherPath, let otherBacking)
        ):
            one === other && path == otherPath && backing == otherBacking
        case (.thing(let one), .thing(let other)): one == other
        default: false
        }
    }
}
