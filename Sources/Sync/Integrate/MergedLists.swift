import Git
import Stores
import System
import SystemPackage

/// The lists of recipients that count once a merge is taken in, where these are not those that lie in the store now.
///
/// A secret that the merge encrypts itself is for whom the merged lists name: a reader whom the other side has taken out must
/// not get what was written since.
struct MergedLists {
    /// A list as the merge leaves it.
    struct List: Sendable {
        /// The `.gpg-id`, relative to the store.
        var file: FilePath
        var bytes: [UInt8]
        /// What its `.gpg-id.sig` will hold; nil where there will be none.
        var signature: [UInt8]?
    }

    private let part: RepositoryPart
    private let ours: ObjectID
    /// What the merge changes of lists and signatures; nil removes.
    private let edits: [FilePath: TreeItem?]

    init(_ changes: TreeMerge, ours: ObjectID, _ part: RepositoryPart) {
        self.part = part
        self.ours = ours
        let names = [Store.recipientFileName, Store.signatureFileName]
        edits = changes.edits.reduce(into: [:]) { lists, edit in
            if edit.path.lastComponent.map(names.contains) == true { lists[edit.path] = .some(edit.item) }
        }
    }

    /// The list that will count for a secret; nil where it is the one that counts now.
    /// - Parameter secret: relative to the top of the repository.
    func list(for secret: FilePath) throws(GitError) -> List? {
        guard !edits.isEmpty else { return nil }
        var folder = secret.removingLastComponent()
        var isAnotherOne = false
        while true {
            let file = folder.appending(Store.recipientFileName)
            if edits[file] != nil { isAnotherOne = true }
            if let item = try item(at: file) {
                let signature = folder.appending(Store.signatureFileName)
                guard isAnotherOne || edits[signature] != nil else { return nil }
                return List(
                    file: part.inStore(file), bytes: try bytes(of: item),
                    signature: try self.item(at: signature).map { (item) throws(GitError) in
                        try bytes(of: item)
                    })
            }
            guard folder.removeLastComponent() else { return nil }
        }
    }

    private func item(at path: FilePath) throws(GitError) -> TreeItem? {
        if let edit = edits[path] { return edit }
        return try part.repository.item(at: path, in: ours)
    }

    private func bytes(of item: TreeItem) throws(GitError) -> [UInt8] {
        guard item.isFile else { return [] }
        return try part.repository.blob(item.id, atMost: TreeBounds.recipients)
    }
}
