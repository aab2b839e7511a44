import System
public import SystemPackage

/// A folder as it was, under the names by which a mount would show it. Whoever made the commit chose the names on disk: what
/// can be no name of a file, what a mount never shows, and all but the first of one name are left out.
public struct PastListing: Sendable {
    /// One entry.
    public struct Item: Sendable, Hashable {
        /// What it is to a mount.
        public enum Content: Sendable, Hashable {
            case folder(PastFolder)
            /// To be decrypted.
            case secret(PastBlob)
            /// Shown as it is.
            case plain(PastBlob)
            /// A symbolic link, wherever it leads.
            case link(PastBlob)
        }

        /// Its name in the mount.
        public let name: FilePath.Component
        /// Its name on disk.
        public let backing: FilePath.Component
        /// What it is.
        public let content: Content
    }

    /// The entries, in git's order.
    public let items: [Item]
    private let places: [FilePath.Component: Int]

    /// What a mount would show of these entries.
    public init(_ entries: [PastEntry]) {
        var seen: Set<FilePath.Component> = []
        let known = entries.compactMap { entry -> (name: FilePath.Component, content: PastEntry.Content)? in
            guard entry.name.count <= 255, let name = FilePath.Component(bytes: entry.name),
                name.kind == .regular, seen.insert(name).inserted, entry.kind != .other
            else { return nil }
            return (name, entry.content)
        }
        let names = VisibleName.visibleNames(of: known.map { ($0.name, $0.content.kind) })
        let items = zip(known, names).compactMap { entry, shown in
            shown.map { Item(name: $0, backing: entry.name, content: entry.content.shown(as: entry.name)) }
        }
        self.items = items
        places = Dictionary(
            zip(items.map(\.name), items.indices), uniquingKeysWith: { first, _ in first })
    }

    /// The entry that has a name in the mount.
    public subscript(name: FilePath.Component) -> Item? { places[name].map { items[$0] } }
}

extension PastEntry.Content {
    fileprivate var kind: EntryKind { PastEntry(name: [], content: self).kind }

    fileprivate func shown(as name: FilePath.Component) -> PastListing.Item.Content {
        switch self {
        case .folder(let folder): .folder(folder)
        case .link(let blob): .link(blob)
        case .file(let blob): name.strippingSuffix() == nil ? .plain(blob) : .secret(blob)
        case .submodule: preconditionFailure("a submodule is not listed")
        }
    }
}
