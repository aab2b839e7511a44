import CGit
public import SystemPackage

extension Repository {
    /// Which paths `git add` would refuse: those that a `.gitignore` of the working tree, `.git/info/exclude` or
    /// `core.excludesFile` matches, and that neither the commit nor the index has (gitignore(5)).
    /// - Parameters:
    ///   - paths: relative to the top of the repository.
    ///   - parent: the newest commit; nil when there is none.
    /// - Throws: `.invalid` where a `.gitignore` above a path is no file of ordinary size: git follows no link there.
    public func ignored(_ paths: [FilePath], parent: ObjectID?) throws(GitError) -> Set<FilePath> {
        var matched: [FilePath] = []
        var checked: Set<FilePath> = []
        for path in paths {
            try checkedPath(path)
            if let parent, try item(at: path, in: parent) != nil { continue }
            try checkIgnoreFiles(above: path, &checked)
            var result: Int32 = 0
            try check(
                path.withPlatformString { git_ignore_path_is_ignored(&result, pointer, $0) },
                "cannot read what git ignores")
            if result != 0 { matched.append(path) }
        }
        guard !matched.isEmpty else { return [] }
        let staged = try indexItems(at: matched)
        return Set(matched.filter { staged[$0] == nil })
    }

    private func checkIgnoreFiles(above path: FilePath, _ checked: inout Set<FilePath>) throws(GitError) {
        guard let top = workingDirectory else { return }
        var folder = path
        repeat {
            folder.removeLastComponent()
            guard checked.insert(folder).inserted else { return }
            try RuleFiles.check(folder, top: top)
        } while !folder.isEmpty
    }
}
