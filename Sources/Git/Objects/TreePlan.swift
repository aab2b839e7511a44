import CGit
import Glibc
import SystemPackage

/// What a commit of some paths is to change, read from the working tree but not yet written anywhere: the blobs, the
/// trees and the index can then be written at the same time.
public struct TreePlan: Sendable {
    /// A path and what it is to hold; nil: nothing.
    struct Step {
        var path: FilePath
        var entry: TreeEntry?
    }

    /// The contents that wait here to be written take about as much as this, in bytes; then they are written at once.
    private static let mostHeld = 4 << 20

    /// What differs from the parent's tree.
    public private(set) var changes: [TreeChange] = []
    let parent: ObjectID?
    let trustsExecutableBit: Bool
    private let index: FilePath
    private(set) var removals: [Step] = []
    private(set) var puts: [Step] = []
    private(set) var blobs: [[UInt8]] = []
    /// A file takes a folder's name, or a folder a file's.
    var changesKind = false
    private var held = 0
    private var edits: [IndexEdit] = []
    /// The places in `changes` of what is removed.
    private var removed: [FilePath: Int] = [:]
    private var placed: Set<FilePath> = []

    init(parent: ObjectID?, index: FilePath, trustsExecutableBit: Bool) {
        self.parent = parent
        self.index = index
        self.trustsExecutableBit = trustsExecutableBit
    }

    /// What the index is to become for it.
    public var indexChange: IndexChange { IndexChange(index: index, edits: edits) }

    mutating func remove(_ path: FilePath, _ old: TreeEntry) {
        guard removed[path] == nil else { return }
        removed[path] = changes.count
        removals.append(Step(path: path, entry: nil))
        changes.append(TreeChange(path: path, kind: .removed, old: old.id, new: nil))
        edits.append(IndexEdit(path: path, entry: nil))
    }

    mutating func put(_ path: FilePath, _ new: IndexEntry, replacing old: TreeEntry?) {
        guard placed.insert(path).inserted else { return }
        puts.append(Step(path: path, entry: new.blob))
        // A file in the place of a submodule: that was removed a moment ago.
        if let place = removed[path] {
            changes[place].kind = .modified
            changes[place].new = new.blob.id
        } else {
            changes.append(
                TreeChange(
                    path: path, kind: old == nil ? .added : .modified, old: old?.id, new: new.blob.id))
        }
        edits.append(IndexEdit(path: path, entry: new))
    }

    /// Keeps a blob's content until the plan is written.
    mutating func hold(_ bytes: [UInt8]) {
        held += bytes.count
        blobs.append(bytes)
    }

    /// Whether what is held must be written before more of it comes.
    var isFull: Bool { held > Self.mostHeld }

    mutating func takeBlobs() -> [[UInt8]] {
        defer {
            blobs = []
            held = 0
        }
        return blobs
    }
}
