import Git
import Stores
import SystemPackage

/// What becomes of each path when two histories meet: what git alone can tell, without looking into a secret.
struct TreeMerge {
    /// A path that both sides changed in different ways.
    struct Collision: Sendable, Equatable {
        /// Where it lies in the end.
        var path: FilePath
        var base: TreeItem?
        var ours: TreeItem
        var theirs: TreeItem
    }

    /// What changes in our tree.
    private(set) var edits: [(path: FilePath, item: TreeItem?)] = []
    /// What only the content can tell.
    private(set) var collisions: [Collision] = []
    /// Lists of recipients that both sides changed: not ours to settle.
    private(set) var recipientFiles: [FilePath] = []

    /// - Parameters:
    ///   - ours: what changed from the common ancestor to us.
    ///   - theirs: what changed from the common ancestor to the remote.
    init(ours: [TreeDifference], theirs: [TreeDifference]) {
        let ourChanges = Dictionary(ours.map { ($0.path, $0) }) { first, _ in first }
        let theirChanges = Dictionary(theirs.map { ($0.path, $0) }) { first, _ in first }
        let ourRenames = Self.renames(ours, unless: theirChanges)
        let theirRenames = Self.renames(theirs, unless: ourChanges)
        for change in theirs {
            // Renamed here, edited there: the edit follows the name.
            if let name = ourRenames[change.path], let edited = change.new, change.old != edited {
                edits.append((name, edited))
                continue
            }
            guard let our = ourChanges[change.path] else {
                // Renamed there, edited here: the new name gets our edit.
                if let old = theirRenames.first(where: { $0.value == change.path })?.key,
                    let edited = ourChanges[old]?.new
                {
                    edits.append((change.path, edited))
                } else {
                    edits.append((change.path, change.new))
                }
                continue
            }
            if theirRenames[change.path] != nil, our.new != nil {
                edits.append((change.path, nil))
                continue
            }
            meet(change.path, our, change)
        }
    }

    private mutating func meet(_ path: FilePath, _ our: TreeDifference, _ their: TreeDifference) {
        switch (our.new, their.new) {
        case (nil, nil): break
        // Edited on one side, removed on the other: the edit stays.
        case (nil, let theirs?): edits.append((path, theirs))
        case (_?, nil): break
        case (var ours?, var theirs?):
            if let base = our.old, base.isFile, ours.isFile, theirs.isFile {
                // The executable bit is merged by itself: whoever changed it meant to.
                let kind = ours.kind == base.kind ? theirs.kind : ours.kind
                (ours.kind, theirs.kind) = (kind, kind)
                if theirs.id == base.id || ours.id == theirs.id { return edits.append((path, ours)) }
                if ours.id == base.id { return edits.append((path, theirs)) }
            }
            if ours == theirs || our.old == nil && ours.isFile && theirs.isFile && ours.id == theirs.id {
                return
            }
            if [Store.recipientFileName, Store.signatureFileName].contains(path.lastComponent) {
                recipientFiles.append(path)
            } else {
                collisions.append(Collision(path: path, base: our.old, ours: ours, theirs: theirs))
            }
        }
    }

    /// Old name to new name, where the very same blob went from one to the other and the other side has edited it
    /// under the old name and has nothing under the new one. What a file is for goes by its name: an edit follows a secret to
    /// another secret's name, and any other file to another folder only, so that no push makes a list of recipients of
    /// what was saved here. Where there are several of one blob, as after a copy, nothing
    /// tells which became which: none was renamed.
    private static func renames(
        _ changes: [TreeDifference], unless others: [FilePath: TreeDifference]
    ) -> [FilePath: FilePath] {
        var added: [TreeItem: [FilePath]] = [:]
        var removed: [TreeItem: Int] = [:]
        for change in changes {
            if change.old == nil, let new = change.new { added[new, default: []].append(change.path) }
            if change.new == nil, let old = change.old { removed[old, default: 0] += 1 }
        }
        var renames: [FilePath: FilePath] = [:]
        for change in changes {
            guard change.new == nil, let old = change.old, removed[old] == 1, let place = added[old],
                place.count == 1, others[change.path]?.new != nil, others[place[0]] == nil,
                change.path.isSecretName && place[0].isSecretName
                    || change.path.lastComponent == place[0].lastComponent
            else { continue }
            renames[change.path] = place[0]
        }
        return renames
    }
}
