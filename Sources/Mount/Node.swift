import Fuse
import Stores

/// A thing under the mount point that has an inode number.
///
/// What never changes about it stands here; its name and place belong to `Tree`, the content of a secret to
/// `SecretFile`.
final class Node: Sendable {
    /// What the thing is and what only such a thing has.
    enum Kind: Sendable {
        /// The mount point: its entries are the stores.
        case root
        case directory
        case secret(SecretFile)
        /// A file of the store that is not encrypted, shown read-only.
        case plain
        case symbolicLink
    }

    /// The number that the kernel knows it by; never used for anything else while mounted.
    let inode: InodeNumber
    /// What it is.
    let kind: Kind
    /// The store it lies in; nil for the mount point only.
    let store: MountedStore?

    init(inode: InodeNumber, kind: Kind, store: MountedStore?) {
        self.inode = inode
        self.kind = kind
        self.store = store
    }

    /// The content, when the node is a secret.
    var secret: SecretFile? {
        if case .secret(let file) = kind { file } else { nil }
    }

    /// The kind as directory listings tell it.
    var fileKind: FileKind {
        switch kind {
        case .root, .directory: .directory
        case .secret, .plain: .regular
        case .symbolicLink: .symbolicLink
        }
    }

    /// Whether what was found on disk is the same kind of thing.
    func matches(_ found: BackingEntry) -> Bool {
        switch (kind, found.kind) {
        case (.directory, .directory), (.plain, .plain), (.symbolicLink, .symbolicLink), (.secret, .secret): true
        default: false
        }
    }
}
