import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Where a branch is pushed to: its upstream, or, where it has none, the branch of the same name on the only
    /// remote.
    func pushTarget(of ref: String, in repository: Repository) throws(GitError) -> (
        remote: String, ref: String
    )? {
        if let upstream = try repository.upstream(of: ref) { return (upstream.remote, upstream.remoteRef) }
        guard let remote = try repository.onlyRemote() else { return nil }
        return (remote, ref)
    }

    /// Pushes what the remote does not have. One push at a time; one that is asked for meanwhile follows.
    func push(timeout: Duration? = nil) async {
        guard !isPushing else {
            mustPushAgain = true
            return
        }
        isPushing = true
        defer { isPushing = false }
        repeat {
            mustPushAgain = false
            guard let request = pushRequest() else { return }
            do {
                try await TransferProcess(program: options.program, timeout: timeout ?? options.pushTimeout)
                    .run(request)
                notePush()
            } catch {
                noteFailedPush(error, request)
                return
            }
        } while mustPushAgain
    }

    private func pushRequest() -> PushRequest? {
        do {
            guard let repository = try Repository.discover(from: store.root.path),
                case .branch(_, let ref, let commit?) = try repository.head(),
                let target = try pushTarget(of: ref, in: repository)
            else { return nil }
            guard try repository.unpushedCount(of: ref) != 0 else {
                _ = commit
                shared.withLock { $0.pushError = nil }
                return nil
            }
            return PushRequest(
                repository: repository.gitDirectory, remote: target.remote, localRef: ref,
                remoteRef: target.ref)
        } catch {
            shared.withLock { $0.pushError = "cannot push: \(error.message)." }
            return nil
        }
    }

    private func notePush() {
        let now = Int64(time(nil))
        failedPushes = 0
        store.remember(String(now), as: "lastPush")
        shared.withLock { shared in
            shared.status.lastPush = now
            shared.pushError = nil
        }
        if let repository = try? Repository.discover(from: store.root.path) { refreshStatus(repository) }
    }

    private func noteFailedPush(_ failure: TransferFailure, _ request: PushRequest) {
        failedPushes += 1
        let advice =
            switch failure.code {
            case .nonFastForward:
                "the remote \"\(request.remote)\" has commits that are not here: run git pull in "
                    + "\(store.root.path.string), the push follows by itself."
            default: "the push to \"\(request.remote)\" failed: \(failure.message)"
            }
        shared.withLock { $0.pushError = advice }
        log.warning("\(advice)")
        if let repository = try? Repository.discover(from: store.root.path) { refreshStatus(repository) }
        guard !shared.withLock({ $0.isFinishing }) else { return }
        // 30 s, 1 min, 2 min … a quarter of an hour.
        let wait = Duration.seconds(min(30 << min(failedPushes - 1, 5), 900))
        Task {
            try? await Task.sleep(for: wait)
            await self.push()
        }
    }
}
