import Git
import Glibc
import Stores
import Synchronization
import System
import SystemPackage

extension Committer {
    /// The paths of one repository.
    struct Share {
        var repository: Repository
        /// The top of its working tree.
        var top: FilePath
        /// The repository's top below the store's folder; empty where they are the same.
        var nested: FilePath
        /// Relative to the top.
        var paths: [FilePath] = []

        /// How pass names a path of the repository: relative to the store.
        func inStore(_ path: FilePath) -> FilePath {
            nested.isEmpty ? path : nested.pushing(path)
        }
    }

    /// The changes by repository: as pass does, the nearest repository around a path commits it, where it is the store's.
    func shares(of batch: PendingChanges) throws(CommitFailure) -> [Share] {
        var shares: [FilePath: Share] = [:]
        var order: [FilePath] = []
        var places: [String: FilePath?] = [:]
        for path in batch.paths {
            // Of the files of a folder all secrets belong to one repository, and so do all others.
            let folder = "\(path.extension == "gpg") \(path.removingLastComponent())"
            let known = places[folder] ?? store.repositories.around(path)
            places[folder] = .some(known)
            guard let place = known else { continue }
            if shares[place] == nil {
                guard let share = try openRepository(at: place) else { continue }
                shares[place] = share
                order.append(place)
                remember(nested: share)
            }
            var relative = path
            guard place.isEmpty || relative.removePrefix(place) else { continue }
            shares[place]?.paths.append(relative)
        }
        return order.compactMap { shares[$0] }.map { share in
            var share = share
            share.paths = expanded(share)
            return share
        }
    }

    private func openRepository(at place: FilePath) throws(CommitFailure) -> Share? {
        do throws(GitError) {
            return try repository(at: place)
        } catch {
            throw CommitFailure(message: "commits are off for this store because \(error.message).")
        }
    }

    /// A repository of the store's as seen from the store; nil for every other.
    nonisolated func share(of repository: Repository) -> Share? {
        guard let top = repository.workingDirectory?.lexicallyNormalized() else { return nil }
        var nested = top
        guard nested.removePrefix(store.root.path) else { return nil }
        return Share(repository: repository, top: top, nested: nested)
    }

    /// The store's own repository; nil when it has none.
    nonisolated func ownRepository() throws(GitError) -> Share? { try repository(at: FilePath()) }

    /// The store's own repository, or the one with this top below its folder; nil when there is none.
    nonisolated func repository(at nested: FilePath) throws(GitError) -> Share? {
        guard let repository = try store.repositories.open(nested) else { return nil }
        repository.conversionProgram = ConversionProgram.run
        return share(of: repository)
    }

    private func remember(nested share: Share) {
        guard !share.nested.isEmpty else { return }
        shared.withLock {
            if !$0.nestedTops.contains(share.nested) { $0.nestedTops.append(share.nested) }
        }
    }

    /// The repositories inside the store, below its own one. Looks at every folder: for the start only.
    func nestedRepositories() -> [Share] {
        var found: [Share] = []
        var unopened: [FilePath: String] = [:]
        for place in store.repositories.inside() {
            do throws(GitError) {
                if let share = try repository(at: place) { found.append(share) }
            } catch {
                unopened[place] = error.message
            }
        }
        shared.withLock { $0.unopened = unopened }
        for share in found { remember(nested: share) }
        return found
    }

    /// What is said of repositories inside the store that cannot be opened, each a sentence without a full stop.
    nonisolated func unopenedSentences(_ unopened: [FilePath: String]) -> [String] {
        unopened.sorted { $0.key.string < $1.key.string }.map { place, reason in
            "the repository in \(store.root.path.pushing(place)) was not looked at, because it cannot be opened: \(reason)"
        }
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
