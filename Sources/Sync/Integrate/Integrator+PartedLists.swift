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

extension Integrator {
    /// The lists that keep this store and its remotes apart, as the remotes were last fetched.
    func partedLists() throws(CommitError) -> [PartedList] {
        do throws(GitError) {
            var lists: [PartedList] = []
            for part in state.repositories(try state.ownRepository()) { lists += try partedLists(of: part) }
            return lists
        } catch {
            throw CommitError(
                message:
                    "cannot read the lists of both sides: \(error.message). Fix what passdir sync reports first."
            )
        }
    }

    private func partedLists(of part: RepositoryPart) throws(GitError) -> [PartedList] {
        let repository = part.repository
        guard case .branch(_, let ref, let ours?) = try repository.head(),
            let theirs = try SyncTarget(of: ref, in: repository)?.known(in: repository),
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
                seen[part.inStore(path)] = try repository.item(at: path, in: theirs)?.id
            }
            let file = folder.appending(Store.recipientFileName)
            lists.append(
                PartedList(
                    file: part.inStore(file), base: try list(file, base, repository),
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
            throw GitError(code: .invalid, message: "\(file) is not a file in \(commit)")
        }
        return try rethrowing(repository.blob(item.id, atMost: TreeBounds.recipients)) { (error: GitError) in
            GitError(code: error.code, message: "\(file): \(error.message)")
        }
    }

    /// The first list that both sides changed, and that the user has not settled.
    func partedList(_ plan: MergePlan, _ part: RepositoryPart) throws(GitError) -> FilePath? {
        for path in plan.changes.recipientFiles {
            let theirs = try part.repository.item(at: path, in: plan.theirs)?.id
            guard let theirs, settledLists[part.inStore(path)] == theirs else { return path }
        }
        return nil
    }
}
