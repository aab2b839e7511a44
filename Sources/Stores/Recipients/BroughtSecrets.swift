import Git
import Glibc
import Synchronization
import SystemPackage

/// Tells secrets that a merge or another program of git brought from those that were saved here.
///
/// A change of recipients is for the secrets that were there when the user was asked. What others move into its folder
/// afterwards must not get readers that only this change gives it.
final class BroughtSecrets: Sendable {
    private struct Known {
        var commits: Set<ObjectID>
        var blobs: Set<ObjectID>
    }

    private let store: Store
    /// By the top of the repository.
    private let known = Mutex<[FilePath: Known]>([:])

    init(_ store: Store) { self.store = store }

    /// Whether what lies at a path now came by git; true also where that cannot be told, nil when the file is no longer
    /// the one that is meant.
    /// - Parameter identity: of the file that is meant. It lay there before anything is looked up: references are set
    ///   before files are placed.
    func include(_ secret: FilePath, _ identity: ContentIdentity) throws(StoreError) -> Bool? {
        guard let blob = try blob(secret, identity) else { return nil }
        let repositories = store.repositories
        guard let top = repositories.around(secret) else {
            // One that is not the store's is not opened.
            return repositories.outer != nil || store.isInAnyRepository(secret)
        }
        do throws(GitError) {
            guard let repository = try repositories.open(top) else { return false }
            let commits = try repository.broughtCommits()
            if let old = known.withLock({ $0[top] }), old.commits == commits {
                return old.blobs.contains(blob)
            }
            let blobs = try repository.blobs(of: commits)
            known.withLock { $0[top] = Known(commits: commits, blobs: blobs) }
            return blobs.contains(blob)
        } catch {
            return true
        }
    }

    private func blob(_ secret: FilePath, _ identity: ContentIdentity) throws(StoreError) -> ObjectID? {
        do {
            let file = try store.root.openToLook(secret)
            let (bytes, status) = try file.readAll(limit: store.options.ciphertextLimit)
            guard ContentIdentity(status.identity) == identity else { return nil }
            return try Repository.blobID(of: bytes)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch let error as GitError {
            throw StoreError(.system(.ioError), "\(error.message).")
        } catch {
            throw StoreError(error as? Errno ?? .ioError, "read", secret)
        }
    }
}
