import Git
import Stores
import System
import SystemPackage

/// What was found in the store and is left to the user, for `status`.
extension StoreState {
    /// What `status` tells of files goes with them: an ignored secret that was removed, an obstacle that was moved away.
    func forgetWhatIsGone() {
        let (left, obstacle) = withLock { (Array($0.ignored) + $0.refused.keys, $0.obstacle) }
        let gone = left.filter { path in
            do throws(Errno) {
                return try store.root.statusIfPresent(of: path) == nil
            } catch {
                return error == .notDirectory
            }
        }
        if !gone.isEmpty {
            withLock { values in
                values.ignored.subtract(gone)
                for path in gone { values.refused[path] = nil }
            }
        }
        guard let obstacle, obstacle.path.kindOnDisk == nil else { return }
        let isWaiting = withLock { values in
            values.obstacle = nil
            guard values.syncError?.contains(obstacle.message) == true else { return false }
            values.syncError = nil
            return true
        }
        if isWaiting { send(.synchronize) }
    }

    /// `status` names what was staged when it was last looked for, as long as it is.
    func forgetWhatIsNotStaged() {
        let staged = withLock { $0.staged }
        guard !staged.isEmpty else { return }
        for top in Set(staged.map(store.repositories.around)) {
            guard let top, let part = try? repository(at: top) else { continue }
            let paths = staged.filter { store.repositories.around($0) == top }
                .compactMap { $0.relative(to: top) }
            guard let still = try? part.repository.staged(of: Set(paths)) else { continue }
            let gone = Set(paths).subtracting(still).map(part.inStore)
            withLock { $0.staged.subtract(gone) }
        }
    }

    /// What is not in step because the user has staged it; nil when there is nothing.
    func stagedSentence(_ staged: Set<FilePath>) -> String? {
        guard !staged.isEmpty else { return nil }
        return "staged or in conflict in git, so left for you to commit: "
            + "\(staged.map(\.string).sorted().listed); run git commit, or git restore --staged, in \(store.root.path)."
    }

    /// What is said of secrets that a merge has left encrypted to others than their recipients, without a full stop; nil where
    /// there are none. Looks at the disk.
    var driftSentence: String? {
        let drifted = DriftList(store).review()
        return drifted.isEmpty ? nil : DriftList.sentence(drifted, of: store)
    }

    /// What is said of repositories inside the store that cannot be opened, each a sentence without a full stop.
    func unopenedSentences(_ unopened: [FilePath: String]) -> [String] {
        unopened.sorted { $0.key.string < $1.key.string }.map { place, reason in
            "the repository in \(store.root.path.pushing(place)) was skipped because it cannot be opened: \(reason)"
        }
    }
}

extension StoreState.Values {
    /// What `status` says of the secrets that git ignores; nil when there are none.
    var ignoredSentence: String? {
        guard !ignored.isEmpty else { return nil }
        return "saved but not committed, because .gitignore matches: "
            + ignored.map(\.withoutSuffix.string).sorted().listed
    }

    /// What `status` says of the files that no commit takes, each a sentence without a full stop.
    var refusedSentences: [String] {
        var paths: [String] = []
        var submodules: [Refusal: [FilePath]] = [:]
        for (path, refusal) in refused.sorted(by: { $0.key.string < $1.key.string }) {
            switch refusal {
            case .path(let reason): paths.append("\(VisibleText.cut(path.string, atMost: 100)) \(reason)")
            case .submodule: submodules[refusal, default: []].append(path)
            }
        }
        var sentences: [String] = []
        if !paths.isEmpty {
            sentences.append(
                "saved but not committed, because no other machine would accept it: " + paths.listed(", and"))
        }
        for case (.submodule(let folder, let top), let files) in submodules {
            let names = files.map { VisibleText.cut($0.withoutSuffix.string, atMost: 100) }
            let name = ShellWord.quoted(folder.string)
            sentences.append(
                "saved but not committed, because the submodule \(folder) is not checked out: "
                    + names.listed(", and")
                    + "; move them away, run git submodule update --init \(name) in \(top), and move them back"
            )
        }
        return sentences.sorted()
    }
}

extension [String] {
    /// The first five, and how many more there are.
    var listed: String { listed(" and") }

    func listed(_ and: String) -> String {
        prefix(5).joined(separator: ", ") + (count > 5 ? "\(and) \(count - 5) more" : "")
    }
}
