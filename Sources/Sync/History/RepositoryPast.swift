import Git
public import OpenPGP
public import Stores
import Synchronization
import System
public import SystemPackage

/// The past of stores, as their repositories have it. Each call opens the repository again, as nothing of libgit2 may go from one
/// thread to another; what takes a walk through the history is kept for a while.
public final class RepositoryPast: StorePast {
    /// A branch as it was: all that is kept holds for that.
    private struct Tip: Hashable {
        var store: String
        var commit: ObjectID
    }
    private struct Place<Value: Hashable & Sendable>: Hashable {
        var tip: Tip
        var value: Value
    }
    /// The times that lead to one state.
    private struct Span {
        var times: Range<Int64>
        var state: PastState
    }
    private struct Kept {
        var spans = RecentlyUsed<Tip, [Span]>(limit: 8)
        /// Weighed by their number.
        var versions = RecentlyUsed<Place<FilePath>, [PastVersion]>(limit: 20_000)
        var laterNames = RecentlyUsed<Place<ObjectID>, [FilePath: Set<FilePath>]>(limit: 50_000)
        /// And when that was, in nanoseconds.
        var strays = RecentlyUsed<Tip, (time: UInt64, paths: [FilePath])>(limit: 8)
        /// As many as a tip may have: with less room, each version of a larger store that is opened would need all names anew.
        var namesByContent = RecentlyUsed<Tip, [ObjectID: [FilePath]]>(limit: 500_000)
    }

    /// How many spans of one branch are kept.
    private static let mostSpans = 32
    /// The entries of a folder that are looked at.
    private static let mostEntries = 100_000
    /// The versions of a secret that are listed.
    private static let mostVersions = 10_000

    private let point: @Sendable (_ typed: String) -> HistoryPoint
    private let kept = Mutex(Kept())

    /// - Parameter point: what people mean by what they type.
    public init(point: @escaping @Sendable (_ typed: String) -> HistoryPoint) { self.point = point }

    /// The state of a store that is meant by what was typed.
    public func state(
        _ typed: String, of store: Store, cancellation: Cancellation
    ) throws(StoreError) -> PastState {
        let point = point(typed)
        return try reading(store) { history throws(GitError) in
            guard case .at(let time, _) = point else {
                return try history.state(history.repository.commitInfo(history.commit(at: point)))
            }
            let tip = Tip(store: store.identifier, commit: history.tip)
            let known = kept.withLock { $0.spans.find(tip) } ?? []
            if let span = known.first(where: { $0.times.contains(time) }) { return span.state }
            let found = try history.lastCommit(notAfter: time) { cancellation.isCancelled }
            guard let found else { throw history.beginsLater(point) }
            let state = history.state(found.commit)
            let span = Span(times: found.times, state: state)
            kept.withLock { $0.spans.keep(known.suffix(Self.mostSpans - 1) + [span], for: tip) }
            return state
        }
    }

    /// The entries of a folder; EIO where it holds more than 100,000.
    public func entries(of folder: PastFolder, in store: Store) throws(StoreError) -> [PastEntry] {
        try reading(store) { history throws(GitError) in
            try history.repository.entries(ofFolder: folder.tree, atMost: Self.mostEntries)
                .map { PastEntry(name: $0.name, content: PastEntry.Content($0)) }
        }
    }

    /// The bytes of a blob, up to those that a ciphertext may have.
    public func content(of blob: PastBlob, in store: Store) throws(StoreError) -> [UInt8] {
        try reading(store) { history throws(GitError) in
            try history.repository.blob(blob.id, atMost: store.options.ciphertextLimit)
        }
    }

    /// The versions of a secret, the newest 10,000 at most.
    public func versions(
        of secret: FilePath, in store: Store, cancellation: Cancellation
    ) throws(StoreError) -> [PastVersion] {
        try reading(store) { history throws(GitError) in
            let place = Place(tip: Tip(store: store.identifier, commit: history.tip), value: secret)
            if let known = kept.withLock({ $0.versions.find(place) }) { return known }
            let found = try history.versions(of: secret, atMost: Self.mostVersions) {
                cancellation.isCancelled
            }
            kept.withLock { $0.versions.keep(found, for: place, weight: found.count + 1) }
            return found
        }
    }

    /// What a file of a commit was renamed to since, and all other files of today that hold the same; also where no commit tells of
    /// it yet.
    public func laterNames(
        of path: FilePath, holding blob: PastBlob, since commit: PastCommit, in store: Store,
        cancellation: Cancellation
    ) throws(StoreError) -> [FilePath] {
        try reading(store) { history throws(GitError) in
            let tip = Tip(store: store.identifier, commit: history.tip)
            let renamed = try renamed(since: commit.id, tip, history, cancellation)[path] ?? []
            let alike = try namesByContent(tip, history)[blob.id, default: []]
            let uncommitted = try history.uncommittedNames(
                holding: blob.id, of: renamed.union([path]), among: try strays(tip, history))
            return Array(renamed.union(alike).union(uncommitted).subtracting([path]))
        }
    }

    private func renamed(
        since commit: ObjectID, _ tip: Tip, _ history: StoreHistory, _ cancellation: Cancellation
    ) throws(GitError) -> [FilePath: Set<FilePath>] {
        let place = Place(tip: tip, value: commit)
        if let known = kept.withLock({ $0.laterNames.find(place) }) { return known }
        let found = try history.repository.laterNames(
            since: commit, at: tip.commit, told: history.toldRenames()
        ) { cancellation.isCancelled }
        kept.withLock { $0.laterNames.keep(found, for: place, weight: found.count + 1) }
        return found
    }

    /// What the tip does not have, as it was within the last second: of many versions that are read one after another the store is not
    /// walked through for each.
    private func strays(_ tip: Tip, _ history: StoreHistory) throws(GitError) -> [FilePath] {
        let now = MonotonicTime.nanoseconds
        if let known = kept.withLock({ $0.strays.find(tip) }), now < known.time + 1_000_000_000 {
            return known.paths
        }
        let committed = try namesByContent(tip, history).values.joined()
        let found = history.strays(besides: Set(committed))
        kept.withLock { $0.strays.keep((now, found), for: tip, weight: 1) }
        return found
    }

    private func namesByContent(
        _ tip: Tip, _ history: StoreHistory
    ) throws(GitError) -> [ObjectID: [FilePath]] {
        if let known = kept.withLock({ $0.namesByContent.find(tip) }) { return known }
        let found = try history.repository.namesByContent(at: tip.commit)
        kept.withLock { $0.namesByContent.keep(found, for: tip, weight: found.count + 1) }
        return found
    }

    private func reading<Value>(
        _ store: Store, _ work: (StoreHistory) throws(GitError) -> Value
    ) throws(StoreError) -> Value {
        let history: StoreHistory
        do throws(StoreHistory.Failure) {
            history = try StoreHistory(store)
        } catch {
            throw StoreError(.system(.noSuchFileOrDirectory), error.message)
        }
        do throws(GitError) {
            return try work(history)
        } catch {
            throw StoreError(error, in: store)
        }
    }
}

extension StoreHistory {
    /// All that the store held at a commit.
    fileprivate func state(_ commit: CommitInfo) -> PastState {
        PastState(
            commit: PastCommit(id: commit.id, time: commit.author.time), top: PastFolder(tree: commit.tree))
    }

    /// The versions of a secret, newest first, also those that a merge did not take; of equal ones that follow each other the
    /// oldest.
    fileprivate func versions(
        of secret: FilePath, atMost limit: Int, until isOver: () -> Bool
    ) throws(GitError) -> [PastVersion] {
        var found: [PastVersion] = []
        try repository.visitHistory(of: secret, from: tip, everySide: true, limit: limit, until: isOver) {
            change in
            guard let item = change.item, item.isFile else { return }
            let version = PastVersion(
                commit: PastCommit(id: change.commit.id, time: change.commit.author.time),
                path: change.path, blob: PastBlob(id: item.id))
            if found.last?.blob == version.blob { found.removeLast() }
            found.append(version)
        }
        return found
    }
}

extension PastEntry.Content {
    fileprivate init(_ entry: FolderEntry) {
        self =
            switch entry.kind {
            case .folder: .folder(PastFolder(tree: entry.id))
            case .item(.file), .item(.executable): .file(PastBlob(id: entry.id))
            case .item(.link): .link(PastBlob(id: entry.id))
            case .item(.submodule): .submodule
            }
    }
}

extension StoreError {
    fileprivate init(_ error: GitError, in store: Store) {
        let code: Code =
            switch error.code {
            case .notFound, .unbornBranch: .system(.noSuchFileOrDirectory)
            case .cancelled: .openPGP(.canceled)
            default: .system(.ioError)
            }
        self.init(code, "the history of \(store.name) does not show it: \(error.message).")
    }
}
