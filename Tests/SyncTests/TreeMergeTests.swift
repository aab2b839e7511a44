import Stores
import SystemPackage
import Testing

@testable import Git
@testable import Sync

/// What becomes of the paths of two histories, by their trees alone.
@Suite struct TreeMergeTests {
    private static func item(_ digit: String) throws -> TreeItem {
        TreeItem(id: try #require(ObjectID(hex: String(repeating: digit, count: 40))), kind: .file)
    }

    struct Rename: Sendable, CustomTestStringConvertible {
        var old: FilePath
        var new: FilePath
        /// Whether an edit that the other side made under the old name goes to the new one.
        var isFollowed: Bool
        var testDescription: String { "\(old) to \(new)" }
    }

    static let renames = [
        Rename(old: "one.gpg", new: "dir/two.gpg", isFollowed: true),
        Rename(old: "dir/.gpg-id", new: "other/.gpg-id", isFollowed: true),
        Rename(old: "README.md", new: "docs/README.md", isFollowed: true),
        Rename(old: "one.gpg", new: "dir/.gpg-id", isFollowed: false),
        Rename(old: "one.gpg", new: ".gpg-id.sig", isFollowed: false),
        Rename(old: "one.gpg", new: ".gitattributes", isFollowed: false),
        Rename(old: "dir/.gpg-id", new: "dir/one.gpg", isFollowed: false),
        Rename(old: "README.md", new: ".gpg-id", isFollowed: false),
    ]

    /// A rename that others push never makes a list of recipients, or a file with rules, of what is edited here; nor does
    /// what they edit become one by a rename here.
    @Test(arguments: renames, [true, false])
    func anEditFollowsNoRenameToAnotherKindOfFile(_ rename: Rename, _ isPushed: Bool) throws {
        let (base, edited) = (try Self.item("a"), try Self.item("b"))
        let renamed = [
            TreeDifference(path: rename.old, old: base, new: nil),
            TreeDifference(path: rename.new, old: nil, new: base),
        ]
        let edit = [TreeDifference(path: rename.old, old: base, new: edited)]
        let merge = isPushed ? TreeMerge(ours: edit, theirs: renamed) : TreeMerge(ours: renamed, theirs: edit)
        var tree: [FilePath: TreeItem] = isPushed ? [rename.old: edited] : [rename.new: base]
        for (path, item) in merge.edits { tree[path] = item }
        #expect(
            tree == (rename.isFollowed ? [rename.new: edited] : [rename.old: edited, rename.new: base]))
        #expect(merge.collisions.isEmpty && merge.recipientFiles.isEmpty)
    }
}
