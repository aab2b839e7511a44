import Git
import System
import SystemPackage

extension UnsharedSearch {
    /// The objects of a repository that no remote of it has, each commit by the name under which it is found here.
    mutating func addObjects(of repository: Repository, named path: FilePath) throws(GitError) {
        let stock = try ObjectStock(repository)
        let own = try stock.own()
        guard !own.isEmpty else { return }
        var shared: Set<ObjectID> = []
        let failures = try ask(repository, isTop: path.isEmpty, stock, &shared)
        if path.isEmpty, let clone { try addObjects(ofClone: clone, &shared) }
        let unshared = Set(own).subtracting(shared)
        let worktrees = repository.linkedWorktrees()
        for (_, place) in worktrees where !isInside(place) && (try? place.resolvingLinks()) != nil {
            add("the worktree \(place) belongs to this repository")
        }
        guard !unshared.isEmpty else { return }
        var names = Naming(stock: stock, unshared: unshared, place: path.isEmpty ? "" : " in \(path)/")
        names.takeStashes(of: repository)
        let tips = try repository.namedTips()
        let head = try? repository.head()
        for tip in tips { names.take(tip, head) }
        let others = worktrees.compactMap { worktree -> (String, Repository)? in
            let place = repository.commonDirectory.appending("worktrees").appending(worktree.name)
            return (try? Repository.open(gitDirectory: place)).map { (worktree.name, $0) }
        }
        for (name, other) in others {
            for tip in (try? other.namedTips()) ?? [] where tip.name == "HEAD" {
                names.takeCommits(from: [tip.target], "at the worktree \(name)")
            }
        }
        for tip in tips {
            let log = repository.reflog(of: tip.name).flatMap { [$0.new, $0.old] }
            names.takeCommits(from: log, "in the log of \(Naming.short(tip.name))")
        }
        for (name, other) in others {
            let log = other.reflog(of: "HEAD").flatMap { [$0.new, $0.old] }
            names.takeCommits(from: log, "in the log of the worktree \(name)")
        }
        names.takeRest(staged: Set(((try? repository.stagedEntries()) ?? []).map(\.content)))
        guard !names.lines.isEmpty else { return }
        let subject = path.isEmpty ? "the repository" : "the repository \(path)/"
        let count = names.commits
        let commits = "\(count) commit\(count == 1 ? "" : "s")"
        if failures.isEmpty {
            add("\(subject) has commits that no remote has: \(commits)")
        } else {
            add("\(subject) \(failures.joined(separator: "; ")): \(commits)")
        }
        for line in names.lines { add(line) }
    }

    /// Adds what the remotes have to `shared`; returns what stood in the way, as ends of a sentence.
    private func ask(
        _ repository: Repository, isTop: Bool, _ stock: ObjectStock, _ shared: inout Set<ObjectID>
    ) throws(GitError) -> [String] {
        var failures: [String] = []
        let urls = try repository.remotes().compactMap { repository.url(ofRemote: $0) }
        if urls.isEmpty { failures.append("has no remote") }
        for url in Set(urls).sorted() {
            let answer = look.ask(url, of: repository, mayUseGit: isTop)
            if let failure = answer.failure { failures.append("could not be compared: \(failure)") }
            stock.close(&shared, over: answer.tips) { stock.kind(of: $0) != nil }
        }
        return failures
    }

    private func addObjects(ofClone clone: FilePath, _ shared: inout Set<ObjectID>) throws(GitError) {
        guard let repository = try Repository.open(workingTree: clone), !repository.isShallow,
            try !repository.remotes().contains(where: {
                look.isShallow(repository.url(ofRemote: $0) ?? $0, from: clone)
            })
        else { return }
        let stock = try ObjectStock(repository)
        stock.close(&shared, over: try repository.namedTips().map(\.target)) { stock.kind(of: $0) != nil }
    }

    private func isInside(_ place: FilePath) -> Bool {
        guard let real = try? place.resolvingLinks() else { return false }
        return look.doomed.contains { real.starts(with: $0) }
    }
}

/// Gives each object that no remote has one name: the first under which a user would look for it.
private struct Naming {
    let stock: ObjectStock
    let unshared: Set<ObjectID>
    /// ` in FOLDER/` for a repository inside the store.
    let place: String
    private(set) var lines: [String] = []
    private(set) var commits = 0
    private var taken: Set<ObjectID> = []

    init(stock: ObjectStock, unshared: Set<ObjectID>, place: String) {
        (self.stock, self.unshared, self.place) = (stock, unshared, place)
    }

    mutating func takeStashes(of repository: Repository) {
        for (index, line) in repository.reflog(of: "refs/stash").enumerated() {
            guard unshared.contains(line.new), !taken.contains(line.new) else { continue }
            lines.append("stash@{\(index)}\(place): \(line.message)")
            commits += 1
            // What was staged and what was untracked are commits of the stash; its first parent is the branch's.
            let parents = stock.parents(of: line.new)
            takeContent(of: line.new, parents.dropFirst())
        }
    }

    mutating func take(_ tip: Repository.NamedTip, _ head: Head?) {
        guard unshared.contains(tip.target), !taken.contains(tip.target) else { return }
        switch stock.kind(of: tip.target) {
        case .commit: takeCommits(from: [tip.target], Self.where_(tip.name, head))
        case .tag:
            lines.append("\(Self.short(tip.name))\(place): \(stock.subject(of: tip.target) ?? "")")
            var found: Set<ObjectID> = []
            stock.close(&found, over: [tip.target]) { [unshared, stock] in
                unshared.contains($0) && stock.kind(of: $0) != .commit
            }
            taken.formUnion(found)
            let commits = peeled(tip.target)
            if let commits { takeCommits(from: [commits], "under the \(Self.short(tip.name))") }
        default:
            lines.append("\(Self.short(tip.name))\(place): object \(tip.target.hex.prefix(7)), not a commit")
            stock.close(&taken, over: [tip.target]) { [unshared] in unshared.contains($0) }
        }
    }

    private func peeled(_ tag: ObjectID) -> ObjectID? {
        var found: Set<ObjectID> = []
        stock.close(&found, over: [tag]) { [stock] in [.tag, .commit].contains(stock.kind(of: $0)) }
        return found.first { stock.kind(of: $0) == .commit && unshared.contains($0) && !taken.contains($0) }
    }

    /// Commits and what is behind them, up to what a remote has or has a name already.
    mutating func takeCommits(from tips: [ObjectID], _ words: String) {
        var waiting = Array(tips.reversed())
        while let id = waiting.popLast() {
            guard unshared.contains(id), !taken.contains(id), stock.kind(of: id) == .commit else { continue }
            lines.append("commit \(id.hex.prefix(7)) \(words)\(place): \(stock.subject(of: id) ?? "")")
            commits += 1
            waiting += stock.parents(of: id).reversed()
            takeContent(of: id, [])
        }
    }

    /// A commit with its files, without those before it.
    private mutating func takeContent(of id: ObjectID, _ more: some Collection<ObjectID>) {
        for commit in [id] + more {
            taken.insert(commit)
            let parents = Set(stock.parents(of: commit))
            var found: Set<ObjectID> = []
            stock.close(&found, over: stock.content(of: commit)) { [unshared] in
                unshared.contains($0) && !parents.contains($0)
            }
            taken.formUnion(found)
        }
    }

    /// What nothing leads to any more, such as a stash that was dropped. Folders without a commit say nothing.
    mutating func takeRest(staged: Set<ObjectID>) {
        let rest = unshared.subtracting(taken).sorted { $0.hex < $1.hex }
        let lost = rest.filter { stock.kind(of: $0) == .commit }
        // Those that others of them lead to are named with these.
        let behind = Set(lost.flatMap { stock.parents(of: $0) })
        takeCommits(from: lost.filter { !behind.contains($0) } + lost, "not on any branch")
        for id in rest where !taken.contains(id) && !staged.contains(id) {
            switch stock.kind(of: id) {
            case .tag:
                lines.append(
                    "removed tag \(id.hex.prefix(7))\(place): \(stock.subject(of: id) ?? "")")
            case .blob: lines.append("file content \(id.hex.prefix(7))\(place) not in any commit")
            default: break
            }
        }
    }

    static func short(_ name: String) -> String {
        for (prefix, word) in [
            ("refs/heads/", "branch "), ("refs/tags/", "tag "), ("refs/remotes/", "remote branch "),
        ] where name.hasPrefix(prefix) { return word + name.dropFirst(prefix.count) }
        return name
    }

    private static func where_(_ name: String, _ head: Head?) -> String {
        guard name == "HEAD" else { return (name.hasPrefix("refs/tags/") ? "under " : "on ") + short(name) }
        if case .branch(let branch, _, _)? = head { return "on branch \(branch)" }
        return "at the detached HEAD"
    }
}
