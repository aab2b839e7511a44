import Git
import Glibc
import Stores
import System
import SystemPackage

/// The repositories of the store, opened anew for each piece of work: that costs a fraction of a commit, and settings that
/// changed meanwhile are honoured.
extension StoreState {
    /// The store's own repository; nil when it has none.
    func ownRepository() throws(GitError) -> RepositoryPart? { try repository(at: FilePath()) }

    /// The store's own repository, or the one with this top below its folder; nil when there is none.
    func repository(at nested: FilePath) throws(GitError) -> RepositoryPart? {
        guard let repository = try store.repositories.open(nested) else { return nil }
        repository.conversionProgram = ConversionProgram.run
        let top = nested.isEmpty ? store.root.path : store.root.path.pushing(nested)
        return RepositoryPart(repository: repository, top: top, nested: nested)
    }

    /// The store's own repository and those inside it. Looks at every folder: for the start only.
    func repositories(_ own: RepositoryPart?) -> [RepositoryPart] {
        var found = own.map { [$0] } ?? []
        var unopened: [FilePath: String] = [:]
        for place in store.repositories.inside() {
            do throws(GitError) {
                guard let part = try repository(at: place) else { continue }
                found.append(part)
                remember(part)
            } catch {
                unopened[place] = error.message
            }
        }
        withLock { $0.unopened = unopened }
        return found
    }

    /// The changes by repository: as pass does, the nearest repository around a path commits it, where it is the store's.
    func parts(of batch: PendingChanges) throws(CommitError) -> [RepositoryPart] {
        var parts: [FilePath: RepositoryPart] = [:]
        var order: [FilePath] = []
        var places: [String: FilePath?] = [:]
        for path in batch.paths {
            // Of the files of a folder all secrets belong to one repository, and so do all others.
            let folder = "\(path.isSecretName) \(path.removingLastComponent())"
            let known = places[folder] ?? store.repositories.around(path)
            places[folder] = .some(known)
            guard let place = known else { continue }
            if parts[place] == nil {
                guard let part = try openToCommit(place) else { continue }
                parts[place] = part
                order.append(place)
                remember(part)
            }
            guard let relative = path.relative(to: place) else { continue }
            parts[place]?.paths.append(relative)
        }
        return order.compactMap { parts[$0] }.map { part in
            var part = part
            part.paths = expanded(part)
            return part
        }
    }

    private func openToCommit(_ place: FilePath) throws(CommitError) -> RepositoryPart? {
        return try rethrowing(repository(at: place)) { (error: GitError) in
            CommitError(message: "commits are off for this store because \(error.message).")
        }
    }

    private func remember(_ part: RepositoryPart) {
        guard !part.nested.isEmpty else { return }
        withLock {
            if !$0.nestedTops.contains(part.nested) { $0.nestedTops.append(part.nested) }
        }
    }

    /// A folder that was renamed stands for the files that are in it now; the ones at its old place are known to
    /// git.
    private func expanded(_ part: RepositoryPart) -> [FilePath] {
        part.paths.flatMap { path -> [FilePath] in
            guard part.top.pushing(path).kindOnDisk == S_IFDIR else { return [path] }
            return [path] + files(below: path, top: part.top)
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
