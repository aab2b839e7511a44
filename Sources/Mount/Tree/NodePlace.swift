import Fuse
import Glibc
import Stores
import System
import SystemPackage

/// Where a node is: its folder, its visible name, and what it is called on disk.
struct NodePlace: Sendable {
    /// How the name on disk follows from the visible one.
    enum Backing: UInt8, Sendable {
        /// The folder of a store has no name in the store.
        case none
        case same
        /// `.gpg` behind it.
        case suffixed
    }

    let parent: Node
    let name: [UInt8]
    let backing: Backing

    init(parent: Node, name: [UInt8], backing: Backing) {
        self.parent = parent
        self.name = name
        self.backing = backing
    }

    init(parent: Node, name: Name, backing: Name) {
        self.init(parent: parent, name: name.bytes, backing: backing == name ? .same : .suffixed)
    }
}

extension NodePlace: Equatable {
    /// The same visible place, whatever lies there on disk.
    static func == (one: NodePlace, other: NodePlace) -> Bool {
        one.parent === other.parent && one.name == other.name
    }
}

extension FileKind {
    /// What an entry of a folder is to the kernel.
    init(_ kind: EntryKind) {
        switch kind {
        case .directory: self = .directory
        case .symbolicLink: self = .symbolicLink
        case .regular, .other: self = .regular
        }
    }
}

extension FilePath {
    /// A relative path of these components; empty for none.
    init(joining components: some Sequence<[UInt8]>) {
        var joined: [CChar] = []
        joined.reserveCapacity(128)
        for component in components {
            if !joined.isEmpty { joined.append(CChar(bitPattern: UInt8(ascii: "/"))) }
            joined.append(contentsOf: component.lazy.map { CChar(bitPattern: $0) })
        }
        joined.append(0)
        self.init(platformString: joined)
    }
}
