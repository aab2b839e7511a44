import Git
import Stores
import System
public import SystemPackage

/// A list of recipients that was changed here and on the remote, so that a merge waits.
public struct PartedList: Sendable, Equatable {
    /// The `.gpg-id`, relative to the store.
    public var file: FilePath
    /// What it held when the two sides parted; nil where there was none.
    public var base: [UInt8]?
    /// What it holds here; nil where there is none.
    public var ours: [UInt8]?
    /// What it holds on the remote, as last fetched; nil where there is none.
    public var theirs: [UInt8]?
    /// The remote's versions of it and of its signature, by path relative to the store.
    let seen: [FilePath: ObjectID]
}

extension Committer {
    /// The lists that keep this store and its remotes apart, as the remotes were last fetched.
    public func partedLists() throws(CommitError) -> [PartedList] {
        do throws(GitError) {
            var lists: [PartedList] = []
            for share in repositories(try ownRepository()) { lists += try partedLists(of: share) }
            return lists
        } catch {
            throw CommitError(
                message:
                    "the lists of both sides cannot be read: \(error.message). What passdir sync says about that "
                    + "goes first.")
        }
    }

    private func partedLists(of share: Share) throws(GitError) -> [PartedList] {
        let repository = share.repository
        guard case .branch(_, let ref, let ours?) = try repository.head(),
            let target = try target(of: ref, in: repository, nested: share.nested),
            let theirs = try known(target, in: repository),
            let base = try repository.mergeBase(ours, theirs)
        else { return [] }
        let merge = TreeMerge(
            ours: try repository.differences(from: base, to: ours),
            theirs: try repository.differences(from: base, to: theirs))
        var lists: [PartedList] = []
        for folder in Set(merge.recipientFiles.map { $0.removingLastComponent() }).sorted(by: {
            "\($0)" < "\($1)"
        }) {
            var seen: [FilePath: ObjectID] = [:]
            for path in merge.recipientFiles where path.removingLastComponent() == folder {
                seen[share.inStore(path)] = try repository.item(at: path, in: theirs)?.id
            }
            let file = folder.appending(Store.recipientFileName)
            lists.append(
                PartedList(
                    file: share.inStore(file), base: try list(file, base, repository),
                    ours: try list(file, ours, repository), theirs: try list(file, theirs, repository),
                    seen: seen))
        }
        return lists
    }

    private func list(
        _ file: FilePath, _ commit: ObjectID, _ repository: Repository
    ) throws(GitError) -> [UInt8]? {
        guard let item = try repository.item(at: file, in: commit) else { return nil }
        guard [.file, .executable].contains(item.kind) else {
            throw GitError(code: .invalid, message: "\(file) is no file in \(commit)")
        }
        do throws(GitError) {
            return try repository.blob(item.id, atMost: TreeBounds.recipients)
        } catch {
            throw GitError(code: error.code, message: "\(file): \(error.message)")
        }
    }

    /// Fetches, merges and pushes; of these lists, where the remote still has them as they were looked at, the store's
    /// own stay.
    /// - Returns: what went wrong, as one sentence.
    public func synchronizeKeeping(_ lists: [PartedList]) async -> String? {
        sync.settledLists = lists.reduce(into: [:]) { $0.merge($1.seen) { first, _ in first } }
        defer { sync.settledLists = [:] }
        return await synchronizeNow()
    }

    /// The first list that both sides changed, and that the user has not settled.
    func unsettledList(_ plan: MergePlan, _ target: SyncTarget) throws(GitError) -> FilePath? {
        guard !plan.merge.recipientFiles.isEmpty else { return nil }
        let repository = try repository(at: target.nested)?.repository
        for path in plan.merge.recipientFiles {
            let file = target.nested.isEmpty ? path : target.nested.pushing(path)
            let theirs = try repository?.item(at: path, in: plan.theirs)?.id
            guard let theirs, sync.settledLists[file] == theirs else { return path }
        }
        return nil
    }
}
