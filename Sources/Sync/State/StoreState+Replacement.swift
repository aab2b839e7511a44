import Glibc
import Logging
import Stores
import SystemPackage

/// When another folder takes the store's place, what was saved into the old one and not committed stays there: the new
/// one must not be committed as if that were missing from it, and the user is told.
extension StoreState {
    /// Changes that lie in a folder that had the store's path before.
    struct LeftBehind: Sendable, Equatable {
        /// `Root.generation` at the time.
        var generation: Int
        /// Relative to the store.
        var paths: [FilePath]
    }

    /// Follows the store's folder, and sets aside what was noted for another one.
    /// - Returns: why there is no folder to save to, as one sentence; nil when there is one.
    @discardableResult
    func followFolder() -> String? {
        var complaint: String?
        do throws(StoreError) {
            if store.root.isOpen {
                try store.root.follow(as: store.name)
            } else if !store.root.isThere {
                complaint = store.root.goneSentence(as: store.name)
            }
        } catch {
            complaint = error.message
        }
        setAsideWhatWasLeftBehind()
        return complaint
    }

    func setAsideWhatWasLeftBehind() {
        let generation = store.root.generation
        let left = withLock { values -> LeftBehind? in
            guard values.generation < generation else { return nil }
            let old = values.generation
            let paths = Array(values.pending.paths)
            values.generation = generation
            values.pending = PendingChanges()
            values.ignored = []
            values.refused = [:]
            values.lookError = nil
            values.commitError = nil
            let left = LeftBehind(generation: old, paths: paths)
            if !paths.isEmpty { values.leftBehind.append(left) }
            return left
        }
        guard let left else { return }
        log.warning("another folder has replaced \(store.root.path)")
        if let sentence = sentence(of: left) { tell(sentence) }
        send(.beginInNewFolder)
    }

    /// What `status` says of changes that were left behind, as long as they lie there.
    var leftBehindSentence: String? {
        let all = withLock { $0.leftBehind }
        let sentences = all.compactMap(sentence)
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private func sentence(of left: LeftBehind) -> String? {
        let place = store.root.location(ofGeneration: left.generation)
        // What somebody has taken from there, or removed, is settled.
        let paths = left.paths.filter { place == nil || store.root.former(left.generation, holds: $0) }
        guard !paths.isEmpty else { return nil }
        let listed = paths.map(\.withoutSuffix.string).listed
        guard let place else {
            return "the store's folder was removed and replaced before this was committed: \(listed)."
        }
        return
            "the store's folder was replaced before this was committed: \(listed). It is in \(place): copy what "
            + "you need from there, or commit it there, and remove the files."
    }

    /// Throws where the changes that are being committed were not made in the folder that is there now.
    func checkFolder() throws(CommitError) {
        do throws(StoreError) {
            if store.root.isOpen { try store.root.follow(as: store.name) }
        } catch {
            throw CommitError(message: "changes wait: \(error.message)")
        }
        guard withLock({ $0.generation }) == store.root.generation else {
            throw CommitError(message: "the store's folder \(store.root.path) was replaced just now.")
        }
    }
}
