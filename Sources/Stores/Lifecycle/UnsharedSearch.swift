import Git
import Glibc
import System
import SystemPackage

/// Looks for what of a folder exists nowhere else: in every repository in it, in every file that no commit holds.
///
/// A repository is what has a `.git`; a folder that only looks like a bare one may have been pushed, and its
/// configuration is not read: its files are files.
struct UnsharedSearch {
    /// The folder, without links.
    private let folder: FilePath
    let look: RemoteLook
    /// A clone that was made just now: what it has its remote has, too.
    let clone: FilePath?
    private(set) var work = UnsharedWork()
    private var examined: Set<FilePath> = []

    private init(_ folder: FilePath, _ look: RemoteLook, clone: FilePath?) {
        (self.folder, self.look, self.clone) = (folder, look, clone)
    }

    /// What of a folder exists nowhere else. Nothing of a symbolic link, which keeps nothing itself.
    static func run(_ folder: FilePath, _ look: RemoteLook, clone: FilePath? = nil) -> UnsharedWork {
        guard let facts = folder.facts(), facts.kind == .directory, let place = try? folder.resolvingLinks()
        else { return UnsharedWork() }
        var look = look
        look.doomed.append(place)
        var search = UnsharedSearch(place, look, clone: clone)
        search.walk(device: facts.st_dev)
        return search.work
    }

    /// A working tree while it is walked.
    private final class Tree {
        let repository: Repository
        /// Relative to the folder that is searched.
        let top: FilePath
        var committed: [FilePath: ObjectID] = [:]
        var staged: [FilePath: [StagedEntry]] = [:]
        /// What was met on disk.
        var met: Set<FilePath> = []
        var reported: Set<FilePath> = []

        init(_ repository: Repository, _ top: FilePath) throws(GitError) {
            (self.repository, self.top) = (repository, top)
            committed = try repository.committedFiles()
            staged = Dictionary(grouping: try repository.stagedEntries(), by: \.path)
        }
    }

    private mutating func walk(device: dev_t) {
        var trees: [Tree] = []
        var waiting: [(path: FilePath, tree: Tree?)] = [(FilePath(), nil)]
        while let (path, around) = waiting.popLast() {
            var tree = around
            guard let names = Self.names(in: folder.pushing(path)) else {
                work.add("folder \(Self.shown(path)): cannot be read: \(Errno.last)")
                continue
            }
            if names.contains(".git") {
                guard let opened = enter(path) else { continue }
                tree = opened
                trees.append(opened)
            }
            for name in names where name != ".git" {
                let path = path.appending(name)
                guard let facts = folder.pushing(path).facts() else { continue }
                if facts.kind == .directory {
                    if facts.st_dev != device {
                        work.add("folder \(path): another file system is mounted there")
                    } else {
                        waiting.append((path, tree))
                    }
                } else {
                    judge(path, facts, tree)
                }
            }
        }
        for tree in trees { addAbsent(tree) }
    }

    /// Looks at the repository with its top in a folder; nil when it cannot be read, which is told then.
    private mutating func enter(_ path: FilePath) -> Tree? {
        do throws(GitError) {
            guard let repository = try Repository.open(workingTree: folder.pushing(path)) else { return nil }
            let tree = try Tree(repository, path)
            try examine(repository, named: path)
            scan(folder.pushing(path).appending(".git"), path)
            let isElsewhere = !((try? repository.commonDirectory.resolvingLinks()) ?? folder).starts(
                with: folder)
            if isElsewhere, case .detached(let id) = try repository.head() {
                // In the other repository nothing leads to it any more once this worktree is gone.
                work.add(
                    "commit \(id.hex.prefix(7)) at the detached HEAD of the worktree \(Self.shown(path))")
            }
            return tree
        } catch {
            work.add(
                "the repository \(Self.shown(path)) and everything in it, which cannot be read: \(error.message)"
            )
            return nil
        }
    }

    /// Looks at the objects of a repository, once, where they would go with the folder.
    private mutating func examine(_ repository: Repository, named path: FilePath) throws(GitError) {
        guard let place = try? repository.commonDirectory.resolvingLinks(), place.starts(with: folder),
            examined.insert(place).inserted
        else { return }
        try addObjects(of: repository, named: path)
    }

    /// What lies in a git directory and is no object: the user's hooks, the repositories of submodules, what others than
    /// git keep there.
    private mutating func scan(_ git: FilePath, _ path: FilePath) {
        for name in Self.names(in: git) ?? [] where !Self.isGits(name.string) {
            work.add("\(Self.shown(path.appending(".git").appending(name))): git does not push it")
        }
        let hooks = git.appending("hooks")
        for name in Self.names(in: hooks) ?? [] where name.extension != "sample" {
            work.add("\(path.appending(".git").appending("hooks").appending(name)): git does not push hooks")
        }
        var waiting = [git.appending("modules")]
        while let folder = waiting.popLast() {
            guard let names = Self.names(in: folder) else { continue }
            if names.contains("HEAD"), names.contains("objects") {
                let place = path.pushing(FilePath(".git/modules")).appending(folder.lastComponent!)
                do throws(GitError) {
                    try examine(try Repository.open(bare: folder), named: place)
                } catch {
                    work.add("the repository \(place), which cannot be read: \(error.message)")
                }
                waiting.append(folder.appending("modules"))
            } else {
                waiting += names.map { folder.appending($0) }
            }
        }
    }

    /// gitrepository-layout(5), and what passdir keeps there itself.
    private static func isGits(_ name: String) -> Bool {
        let known: Set<String> = [
            "branches", "config", "config.worktree", "description", "gc.log", "gc.pid", "hooks", "index",
            "info",
            "logs", "modules", "objects", "packed-refs", "rebase-apply", "rebase-merge", "refs",
            "rr-cache", "sequencer", "shallow", "worktrees",
        ]
        return known.contains(name) || name.hasPrefix("passdir-") || name.hasPrefix("sharedindex.")
            || name.hasPrefix("fsmonitor--daemon") || name.hasSuffix(".lock")
            || name.allSatisfy { $0.isASCII && ($0.isUppercase || $0 == "_") }
    }

    private mutating func judge(_ path: FilePath, _ facts: stat, _ tree: Tree?) {
        // They hold nothing.
        if [S_IFIFO, S_IFSOCK].contains(facts.st_mode & S_IFMT) { return }
        guard let tree else { return work.add("file \(path): in no git repository") }
        let inner = path.below(tree.top)
        tree.met.insert(inner)
        if let id = tree.committed[inner] {
            if holds(id, path, inner, facts, tree) { return }
            work.add("file \(path): changed, not committed")
        } else if tree.staged[inner] != nil {
            work.add("file \(path): staged, not committed")
        } else if tree.repository.ignores(inner) {
            work.add("file \(path): ignored by git")
        } else {
            work.add("file \(path): not in git")
        }
        tree.reported.insert(inner)
    }

    private func holds(
        _ id: ObjectID, _ path: FilePath, _ inner: FilePath, _ facts: stat, _ tree: Tree
    ) -> Bool {
        let place = folder.pushing(path)
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return tree.repository.holds(id, file: place, path: inner)
        case S_IFLNK: return place.linkTarget.map { Repository.isContent(id, ofLink: $0) } ?? false
        default: return false
        }
    }

    /// Files that are gone and whose removal nobody has committed, and what is staged and not on disk.
    private mutating func addAbsent(_ tree: Tree) {
        for path in tree.committed.keys.sorted(by: { $0.string < $1.string }) where !tree.met.contains(path) {
            let isSkipped = tree.staged[path]?.contains(where: \.isSkipped) ?? false
            if !isSkipped { work.add("file \(tree.top.pushing(path)): removed, not committed") }
        }
        for (path, entries) in tree.staged.sorted(by: { $0.key.string < $1.key.string })
        where !tree.reported.contains(path) {
            if entries.contains(where: { !$0.isSubmodule && $0.content != tree.committed[path] }) {
                work.add("file \(tree.top.pushing(path)): staged, not committed")
            }
        }
    }

    static func shown(_ path: FilePath) -> String { path.isEmpty ? "at the top" : path.string }

    mutating func add(_ item: String) { work.add(item) }

    /// The names in a folder, sorted; nil when it cannot be read.
    private static func names(in folder: FilePath) -> [FilePath.Component]? {
        guard var stream = try? DirectoryStream(folder) else { return nil }
        var names: [FilePath.Component] = []
        while let name = try? stream.next()?.component { names.append(name) }
        return names.sorted { $0.string < $1.string }
    }
}

extension FilePath {
    /// The path from a folder above it.
    fileprivate func below(_ folder: FilePath) -> FilePath {
        var path = self
        return path.removePrefix(folder) ? path : self
    }
}
