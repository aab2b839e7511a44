import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

/// When another folder takes the store's place, what was saved into the old one and not committed stays there: the new
/// one must not be committed as if that were missing from it, and the user is told.
extension Committer {
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
    public nonisolated func followFolder() -> String? {
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

    nonisolated func setAsideWhatWasLeftBehind() {
        let generation = store.root.generation
        let left = shared.withLock { shared -> LeftBehind? in
            guard shared.generation < generation else { return nil }
            let old = shared.generation
            let paths = Array(shared.pending.paths)
            shared.generation = generation
            shared.pending = PendingChanges()
            shared.ignored = []
            shared.refused = [:]
            shared.lookError = nil
            shared.commitError = nil
            let left = LeftBehind(generation: old, paths: paths)
            if !paths.isEmpty { shared.leftBehind.append(left) }
            return left
        }
        guard let left else { return }
        log.warning("another folder has taken the place of \(store.root.path)")
        if let sentence = sentence(of: left) {
            log.warning("\(sentence)")
            options.notify(store.name, sentence)
        }
        Task { await self.beginInNewFolder() }
    }

    /// What `status` says of changes that were left behind, as long as they lie there.
    nonisolated var leftBehindSentence: String? {
        let all = shared.withLock { $0.leftBehind }
        let sentences = all.compactMap(sentence)
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private nonisolated func sentence(of left: LeftBehind) -> String? {
        let place = store.root.location(ofGeneration: left.generation)
        // What somebody has taken from there, or removed, is settled.
        let paths = left.paths.filter { place == nil || store.root.former(left.generation, holds: $0) }
        guard !paths.isEmpty else { return nil }
        let names = paths.map { $0.extension == "gpg" ? String($0.string.dropLast(4)) : $0.string }
        let listed =
            names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
        guard let place else {
            return "the store's folder was removed and replaced before this was committed: \(listed)."
        }
        return
            "the store's folder was replaced before this was committed: \(listed). It lies in \(place): copy from there "
            + "what you need, or commit it there, and remove the files."
    }

    /// The repository is another one: what is known of the old one does not hold.
    private func beginInNewFolder() async {
        hasRepository = nil
        lastRewriting = [:]
        hasLooked = false
        shared.withLock {
            $0.nestedTops = []
            $0.unopened = [:]
            $0.seen = nil
            $0.syncError = nil
            $0.status.branch = nil
            $0.status.lastCommit = nil
            $0.status.unpushedCommits = 0
        }
        await start()
    }

    /// Throws where the changes that are being committed were not made in the folder that is there now.
    func checkFolder() throws(CommitFailure) {
        do throws(StoreError) {
            if store.root.isOpen { try store.root.follow(as: store.name) }
        } catch {
            throw CommitFailure(message: "changes wait: \(error.message)")
        }
        guard shared.withLock({ $0.generation }) == store.root.generation else {
            throw CommitFailure(message: "the store's folder \(store.root.path) was replaced just now.")
        }
    }
}
