public import SystemPackage

/// The renames that a commit tells of.
public struct ToldRenames {
    /// What a file of the commit may have been called before, by what is told, in its own order.
    let former: (FilePath) -> [FilePath]
    /// Whether each rename in it is told.
    let areAll: Bool

    /// - Parameters:
    ///   - former: what a file may have been called before; none where nothing is told of it.
    ///   - areAll: whether each rename in the commit is told.
    public init(areAll: Bool = false, former: @escaping (FilePath) -> [FilePath] = { _ in [] }) {
        (self.former, self.areAll) = (former, areAll)
    }
}

/// What files are called at the tip, by what they are called elsewhere. One that is missing has kept its name, or is gone.
private typealias Names = [FilePath: Set<FilePath>]

extension Repository {
    /// What files of a commit are called at the tip, where that is another name: each file that was renamed since, by its name at
    /// the commit. A name may have passed on to several files.
    ///
    /// A rename is told by the content that stayed, else by the last part of the name, or that one file went and one came: one
    /// that was encrypted anew has another content. So there may be too many names, and hardly ever too few. A merge is
    /// compared with each of its parents, as it may rename by itself, and on each line of the history a name has its own past.
    /// - Parameters:
    ///   - told: what a commit tells of renames in it.
    ///   - isOver: asked before each commit; true ends the walk with `.cancelled`.
    public func laterNames(
        since commit: ObjectID, at tip: ObjectID, told: (CommitInfo) -> ToldRenames,
        until isOver: () -> Bool
    ) throws(GitError) -> [FilePath: Set<FilePath>] {
        // For each commit that the walk has not come to yet, as far as its children tell.
        var open: [ObjectID: Names] = [tip: [:]]
        for step in try log(from: tip, hiding: [commit]) {
            if isOver() { throw GitError(code: .cancelled, message: "the walk was ended") }
            var later = open.removeValue(forKey: step.id) ?? [:]
            let steps = try step.parents.map { (parent) throws(GitError) in
                try differences(from: parent, to: step.id)
            }
            let renames = told(step)
            // What a merge took from one side was named there.
            let made = steps.dropFirst().reduce(steps.first?.addedPaths ?? []) {
                $0.intersection($1.addedPaths)
            }
            for (number, parent) in step.parents.enumerated() {
                var names = later
                // The last one gets them without a copy.
                if number == steps.count - 1 { later = [:] }
                steps[number].takeBack(&names, madeHere: made, renames)
                open[parent] = open[parent].map { united($0, names) } ?? names
            }
        }
        // What is left is the commit, and what was there before it on other lines.
        return open.values.reduce(into: [:]) { all, names in all.merge(names) { $0.union($1) } }
    }

    /// What is told of one commit by two of its children.
    private func united(_ one: Names, _ other: Names) -> Names {
        var all = one
        for (name, later) in other { all[name, default: [name]].formUnion(later) }
        for name in one.keys where other[name] == nil { all[name]?.insert(name) }
        return all
    }

    /// The names of all files of a commit, by what they hold.
    /// - Throws: `.invalid` when there are more than `TreeBounds.differences` of them.
    public func namesByContent(at commit: ObjectID) throws(GitError) -> [ObjectID: [FilePath]] {
        try differences(from: nil, to: commit).reduce(into: [:]) { names, file in
            if let item = file.new { names[item.id, default: []].append(file.path) }
        }
    }
}

extension [TreeDifference] {
    fileprivate var addedPaths: Set<FilePath> { Set(lazy.filter { $0.old == nil }.map(\.path)) }

    /// From the later names of what there was after a step to those of what there was before it.
    /// - Parameter made: the files that no other step to the same commit brought.
    fileprivate func takeBack(
        _ names: inout [FilePath: Set<FilePath>], madeHere made: Set<FilePath>, _ told: ToldRenames
    ) {
        let changed = filter { $0.old != nil && $0.old?.id != $0.new?.id }
        let byContent = Dictionary(grouping: changed) { $0.old?.id }
        let gone = changed.filter { $0.new == nil }
        let goneNames = Set(gone.map(\.path))
        let byName = Dictionary(grouping: gone) { $0.path.lastComponent }
        var found: [(older: FilePath, later: Set<FilePath>)] = []
        for difference in self {
            guard let new = difference.new, difference.old?.id != new.id else { continue }
            let later = names[difference.path] ?? [difference.path]
            var older = byContent[new.id] ?? []
            if difference.old == nil {
                // Before this step the name was not there, or another file's.
                names[difference.path] = nil
                if older.isEmpty, made.contains(difference.path) {
                    older =
                        byName[difference.path.lastComponent]
                        ?? (gone.count == 1 && made.count == 1 && !told.areAll ? gone : [])
                }
            }
            for one in older { found.append((one.path, one.new == nil ? later : later.union([one.path]))) }
            for path in told.former(difference.path) {
                found.append((path, goneNames.contains(path) ? later : later.union([path])))
            }
        }
        // Only now: a file may have taken the name of another that went.
        for (older, later) in found { names[older, default: []].formUnion(later) }
    }
}
