import Git
import Glibc
import Stores
import SystemPackage

extension Committer {
    /// The paths of one repository.
    struct Share {
        var repository: Repository
        /// The top of its working tree.
        var top: FilePath
        /// The store's folder below the top; empty where they are the same or the repository lies in the store.
        var prefix: FilePath
        /// The repository's top below the store's folder; empty where they are the same or the store lies in it.
        var nested: FilePath
        /// Relative to the top.
        var paths: [FilePath] = []

        /// How pass names a path of the repository: relative to the store.
        func inStore(_ path: FilePath) -> FilePath {
            var path = path
            if !prefix.isEmpty { _ = path.removePrefix(prefix) }
            return nested.isEmpty ? path : nested.pushing(path)
        }
    }

    /// The changes by repository: as pass does, the nearest repository around a path commits it.
    func shares(of batch: PendingChanges) throws(CommitFailure) -> [Share] {
        var shares: [FilePath: Share] = [:]
        var order: [FilePath] = []
        var places: [FilePath: FilePath?] = [:]
        for path in batch.paths {
            let folder = path.removingLastComponent()
            if places[folder] == nil {
                let share = try openRepository(around: folder)
                places[folder] = .some(share?.top)
                if let share, shares[share.top] == nil {
                    shares[share.top] = share
                    order.append(share.top)
                    remember(nested: share)
                }
            }
            guard let top = places[folder] ?? nil, let share = shares[top] else { continue }
            var relative = store.root.path.pushing(path)
            guard relative.removePrefix(share.top) else { continue }
            shares[top]?.paths.append(relative)
        }
        return order.compactMap { shares[$0] }.map { share in
            var share = share
            share.paths = expanded(share)
            return share
        }
    }

    private func openRepository(around folder: FilePath) throws(CommitFailure) -> Share? {
        // A folder that is gone lay in the repository of the nearest one that is still there.
        var start = store.root.path.pushing(folder)
        while !isDirectory(start), start.components.count > store.root.path.components.count {
            start.removeLastComponent()
        }
        do throws(GitError) {
            guard let repository = try Repository.discover(from: start) else { return nil }
            return share(of: repository)
        } catch {
            throw CommitFailure(message: "commits are off for this store because \(error.message).")
        }
    }

    /// A repository as seen from the store; nil for a bare one.
    func share(of repository: Repository) -> Share? {
        guard let top = repository.workingDirectory?.lexicallyNormalized() else { return nil }
        var prefix = store.root.path
        if !prefix.removePrefix(top) { prefix = FilePath() }
        var nested = top
        if !nested.removePrefix(store.root.path) { nested = FilePath() }
        return Share(repository: repository, top: top, prefix: prefix, nested: nested)
    }

    /// The store's own repository, the one around its folder; nil when it has none.
    func ownRepository() throws(GitError) -> Share? {
        guard let repository = try Repository.discover(from: store.root.path) else { return nil }
        return share(of: repository)
    }

    /// The store's own repository, or the one with this top below its folder; nil when there is none.
    func repository(at nested: FilePath) throws(GitError) -> Share? {
        if nested.isEmpty { return try ownRepository() }
        do throws(GitError) {
            return share(of: try Repository.open(store.root.path.pushing(nested)))
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func remember(nested share: Share) {
        guard !share.nested.isEmpty, !nestedTops.contains(share.nested) else { return }
        nestedTops.append(share.nested)
    }

    /// The repositories inside the store, below its own one. Looks at every folder: for the start only.
    func nestedRepositories() -> [Share] {
        var found: [Share] = []
        var open: [FilePath] = [FilePath()]
        while let folder = open.popLast() {
            guard let entries = try? store.root.entries(of: folder) else { continue }
            let place = store.root.path.pushing(folder)
            if !folder.isEmpty, entries.contains(where: { $0.name == ".git" }),
                let repository = try? Repository.open(place), let share = share(of: repository)
            {
                found.append(share)
                remember(nested: share)
            }
            open += entries.filter { $0.kind == .directory && $0.name != ".git" }.map {
                folder.appending($0.name)
            }
        }
        return found
    }

    private func isDirectory(_ path: FilePath) -> Bool {
        var facts = stat()
        return path.withPlatformString { lstat($0, &facts) } == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    /// A folder that was renamed stands for the files that are in it now; the ones at its old place are known to
    /// git.
    private func expanded(_ share: Share) -> [FilePath] {
        share.paths.flatMap { path -> [FilePath] in
            guard isDirectory(share.top.pushing(path)) else { return [path] }
            return [path] + files(below: path, top: share.top)
        }
    }

    private func files(below folder: FilePath, top: FilePath) -> [FilePath] {
        guard let root = try? Root(path: top), let entries = try? root.entries(of: folder) else { return [] }
        // A repository inside the folder commits its own.
        if entries.contains(where: { $0.name == ".git" }) { return [] }
        return entries.flatMap { entry -> [FilePath] in
            let path = folder.appending(entry.name)
            switch entry.kind {
            case .directory: return files(below: path, top: top)
            case .regular, .symbolicLink:
                return entry.name.string.hasPrefix(Store.temporaryPrefix) ? [] : [path]
            case .other: return []
            }
        }
    }
}
