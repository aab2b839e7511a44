import Git
import Glibc
import Logging
import Stores
import SystemPackage

extension Committer {
    /// Fetches as often as the settings want it, from now on and until the end.
    func exchangeRegularly() {
        regular?.cancel()
        regular = options.interval.map { interval in
            Task {
                while (try? await Task.sleep(for: interval)) != nil, !state.withLock({ $0.isFinishing }) {
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
        state.setActivity(nil)
        for waiting in sync.waiting { waiting.resume() }
        sync.waiting = []
        packIfDue()
    }

    /// Has git pack what many commits have left, beside whatever else is done.
    private func packIfDue() {
        guard options.packs else { return }
        for place in [FilePath()] + state.withLock({ $0.nestedTops }) {
            guard let part = try? state.repository(at: place) else { continue }
            packing.packIfDue(part.repository)
        }
    }

    /// The store's own repository and those inside it, each with its own remote; one that cannot keeps no other from
    /// it.
    /// - Throws: what keeps the first of them apart from its remote.
    private func bringAllTogether(fetching: Bool) async throws(SyncFailure) {
        // Else each look at a branch that waits for the user would ask for another exchange.
        if sync.waitsForUser.contains(FilePath()), let own = try? state.ownRepository() {
            state.noteOffered(own)
        }
        let places = [FilePath()] + state.withLock({ $0.nestedTops })
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
        try telling("cannot reach the remote") { () throws(GitError) in
            // A store may be asked for before its committer was started.
            guard let part = try state.repository(at: place) else { return }
            state.noteOffered(part)
            try writer.mend(part)
            try writer.takeUpWaiting(part)
        }
        var mustFetch = fetching
        for round in 0..<20 {
            guard let session = try RemoteSession(at: place, state, memory) else { return }
            // What was seen of another remote says nothing of this one.
            let isOther = session.isOtherRemote
            if mustFetch || isOther {
                let isThere: Bool
                do throws(SyncFailure) {
                    isThere = try await session.fetch(isOther: isOther, mayBeGone: sync.choice == .ours)
                } catch {
                    guard case .unsound = error.kind, sync.choice == .ours else { throw error }
                    commitPending()
                    return note(chosen: try await integrator.replaceUnsound(session))
                }
                mustFetch = false
                commitPending()
                if !isThere, isOther || sync.choice != nil { return try await session.push(isThere: false) }
                if let choice = sync.choice {
                    note(chosen: try await integrator.choose(choice, session) { commitPending() })
                }
            } else {
                commitPending()
            }
            try await integrator.integrate(session) { commitPending() }
            guard let offered = try session.tipToPush() else { return }
            do throws(SyncFailure) {
                try await session.push()
                // A commit of another program that came meanwhile goes, too: the look at the branch that follows would take
                // it for one that was pushed.
                guard try telling("cannot push", { () throws(GitError) in try session.tip() }) != offered
                else { return }
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
            message: "others are pushing to the remote faster than this store can follow; it will retry.")
    }

    private func note(chosen sentence: String?) {
        if let sentence { sync.chosen.append(sentence) }
    }
}
