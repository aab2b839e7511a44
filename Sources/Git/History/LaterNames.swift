public import SystemPackage

extension Repository {
    /// What files of a commit are called at the tip, where that is another name: each file that was renamed since, by its name at
    /// the commit. A name may have passed on to several files.
    ///
    /// A rename is told by the content that stayed, else by the last part of the name, or that one file went and one came: one
    /// that was encrypted anew has another content. So there may be too many names, and hardly ever too few.
    /// - Parameter isOver: asked before each commit; true ends the walk with `.cancelled`.
    public func laterNames(
        since commit: ObjectID, at tip: ObjectID, until isOver: () -> Bool
    ) throws(GitError) -> [FilePath: Set<FilePath>] {
        // By a file's name at the commit that is looked at, its names at the tip.
        var renamed: [FilePath: Set<FilePath>] = [:]
        for step in try log(from: tip, hiding: [commit]) {
            if isOver() { throw GitError(code: .cancelled, message: "the walk was ended") }
            guard step.parents.count < 2 else { continue }
            let differences = try differences(from: step.parents.first, to: step.id)
            let gone = differences.goneByContent
            let gonePaths = differences.filter { $0.new == nil }.map(\.path)
            let goneByName = Dictionary(grouping: gonePaths) { $0.lastComponent }
            let added = differences.filter { $0.old == nil }
            for difference in added {
                // Before this commit the name was not there, or another file's.
                let later = renamed.removeValue(forKey: difference.path) ?? []
                guard let new = difference.new else { continue }
                let older =
                    gone[new.id].map { [$0] } ?? goneByName[difference.path.lastComponent]
                    ?? (gonePaths.count == 1 && added.count == 1 ? gonePaths : [])
                for name in older {
                    renamed[name, default: []].formUnion(later.isEmpty ? [difference.path] : later)
                }
            }
        }
        return renamed
    }
}
