import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Pushes what the remote does not have; returns when that is done or has failed.
    func push() async {
        await synchronize(.push)
    }

    /// Fetches as often as the settings want it, from now on and until the end.
    func exchangeRegularly() {
        regular?.cancel()
        regular = options.interval.map { interval in
            Task {
                while (try? await Task.sleep(for: interval)) != nil, !shared.withLock({ $0.isFinishing }) {
                    // In a task of its own: whoever ends the regular exchange does not break off one that goes on.
                    await Task { await synchronize(.everything) }.value
                }
            }
        }
    }

    /// One at a time; what is asked for meanwhile follows.
    func synchronize(_ request: SyncState.Request) async {
        guard !sync.isRunning else {
            sync.next = max(sync.next?.rawValue ?? 0, request.rawValue) > 0 ? .everything : .push
            return
        }
        sync.isRunning = true
        var now: SyncState.Request? = request
        while let request = now {
            sync.next = nil
            do throws(SyncFailure) {
                try await bringAllTogether(fetching: request == .everything)
                noteSuccess()
                now = sync.next
            } catch {
                noteFailure(error)
                now = nil
            }
        }
        sync.isRunning = false
        setActivity(nil)
        for waiting in sync.waiting { waiting.resume() }
        sync.waiting = []
    }

    /// The store's own repository and those inside it, each with its own remote; one that cannot keeps no other from
    /// it.
    /// - Throws: what keeps the first of them apart from its remote.
    private func bringAllTogether(fetching: Bool) async throws(SyncFailure) {
        noteOffered()
        let places = [FilePath()] + shared.withLock({ $0.nestedTops })
        for place in places where !sync.waitsForUser.contains(place) {
            do throws(SyncFailure) {
                try await bringTogether(place, fetching: fetching)
                sync.complaints[place] = nil
            } catch {
                var failure = error
                if !place.isEmpty { failure.message = "\(place): \(failure.message)" }
                sync.complaints[place] = failure
                if failure.needsUser { sync.waitsForUser.insert(place) }
            }
        }
        for place in places { if let complaint = sync.complaints[place] { throw complaint } }
    }

    private func bringTogether(_ place: FilePath, fetching: Bool) async throws(SyncFailure) {
        do throws(GitError) {
            // A store may be asked for before its committer was started.
            if let share = try repository(at: place) {
                try mend(share)
                try takeUpWaiting(share)
            }
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot reach the remote: \(error.message).")
        }
        var mustFetch = fetching
        for round in 0..<20 {
            guard let target = try currentTarget(place) else { return }
            // What was seen of another remote says nothing of this one.
            let isOther = try isOtherRemote(target)
            if mustFetch || isOther {
                let isThere: Bool
                do throws(SyncFailure) {
                    isThere = try await fetch(target, isOther: isOther)
                } catch {
                    guard case .unsound = error.kind, sync.choice == .ours else { throw error }
                    return try await replaceUnsound(target)
                }
                mustFetch = false
                commitPending()
                if isOther, !isThere { return try await push(target, isThere: false) }
                if let choice = sync.choice {
                    guard isThere else { return try await push(target, isThere: false) }
                    try await choose(choice, target)
                }
            } else {
                commitPending()
            }
            try await integrate(target)
            guard try mustPush(target) else { return }
            do throws(SyncFailure) {
                let offered = try tip(of: target)
                try await push(target)
                // A commit of another program that came meanwhile goes, too: the look at the branch that follows would take
                // it for one that was pushed.
                guard try tip(of: target) != offered else { return }
            } catch {
                guard case .transfer(let failure) = error.kind, failure.code == .nonFastForward else {
                    throw error
                }
                // Somebody else was faster.
                mustFetch = true
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0...(50 * (round + 1)))))
            }
        }
        throw SyncFailure(
            kind: .passing,
            message: "others push to the remote faster than this store can follow; it tries again.")
    }

    func currentTarget(_ place: FilePath) throws(SyncFailure) -> SyncTarget? {
        do throws(GitError) {
            guard let share = try repository(at: place),
                case .branch(_, let ref, _) = try share.repository.head()
            else {
                return nil
            }
            return try target(of: ref, in: share.repository, nested: place)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot reach the remote: \(error.message).")
        }
    }

    func open(_ target: SyncTarget) throws(SyncFailure) -> Repository {
        do throws(GitError) {
            guard let share = try repository(at: target.nested),
                share.repository.gitDirectory == target.repository
            else {
                throw GitError(
                    code: .notFound,
                    message: store.repositories.reasonToLeaveTopAlone
                        ?? "the repository \(target.repository) is gone")
            }
            return share.repository
        } catch {
            throw SyncFailure(kind: .passing, message: "\(error.message).")
        }
    }

    private func tip(of target: SyncTarget) throws(SyncFailure) -> ObjectID? {
        let repository = try open(target)
        do throws(GitError) {
            return try repository.commit(at: target.localRef)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot push: \(error.message).")
        }
    }

    private func mustPush(_ target: SyncTarget) throws(SyncFailure) -> Bool {
        let repository = try open(target)
        do throws(GitError) {
            guard let tip = try repository.commit(at: target.localRef) else { return false }
            if target.nested.isEmpty { shared.withLock { $0.offered = tip } }
            guard let known = try known(target, in: repository) else { return true }
            if known == tip { return false }
            return try !repository.isAncestor(tip, of: known)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot push: \(error.message).")
        }
    }
}
