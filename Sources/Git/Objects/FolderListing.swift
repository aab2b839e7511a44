/// One entry of a folder of a commit, as the object has it: whoever made the commit may have given it any name.
public struct FolderEntry: Sendable, Hashable {
    /// What an entry is.
    public enum Kind: Sendable, Hashable {
        case folder
        case item(TreeItem.Kind)
    }

    /// Any bytes, `/` among them.
    public var name: [UInt8]
    /// What it is.
    public var kind: Kind
    /// The blob, the folder's tree, or a submodule's commit.
    public var id: ObjectID
}

extension Repository {
    /// The entries of one folder, in git's order; those of a mode that git does not know are left out. What they lead to is not
    /// looked at.
    /// - Parameter limit: how many at most.
    /// - Throws: `.invalid` when there are more, or the object is no tree.
    public func entries(ofFolder tree: ObjectID, atMost limit: Int) throws(GitError) -> [FolderEntry] {
        try ObjectReader(self).entries(of: tree, atMost: limit).compactMap { entry in
            let kind: FolderEntry.Kind? = entry.isTree ? .folder : entry.kind.map { .item($0) }
            return kind.map { FolderEntry(name: entry.name, kind: $0, id: entry.id) }
        }
    }
}
