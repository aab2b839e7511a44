public import SystemPackage

extension Repository {
    /// What files of a commit are called at the tip, where that is another name: each file that was renamed since, with its
    /// content left as it was in that step, by its name at the commit. A name may have passed on to several files.
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
            let gone = Dictionary(
                differences.compactMap { $0.new == nil ? ($0.old?.id, $0.path) : nil },
                uniquingKeysWith: { first, _ in first })
            for difference in differences where difference.old == nil {
                // Before this commit the name was not there, or another file's.
                let later = renamed.removeValue(forKey: difference.path) ?? []
                guard let new = difference.new, let older = gone[new.id] else { continue }
                renamed[older, default: []].formUnion(later.isEmpty ? [difference.path] : later)
            }
        }
        return renamed
    }
}
