import Git
import Logging
import Stores

/// Which program does a transfer, and what the server is offered.
extension RemoteSession {
    /// Runs a transfer in a process of its own; the repository is opened anew afterwards.
    /// - Parameter lease: what a push replaces there.
    /// - Returns: whether the remote has such a branch; and what it leads to, where that is asked.
    @discardableResult
    nonisolated(nonsending) func transfer(
        _ operation: TransferRequest.Operation, replacing lease: ObjectID? = nil
    ) async throws(SyncFailure) -> (isThere: Bool, tip: ObjectID?) {
        var request = TransferRequest(
            operation, repository: target.repository, remote: target.remote, localRef: target.localRef,
            remoteRef: target.remoteRef, trackingRef: target.incomingRef, transport: options.transport)
        // What is kept for the store's server is no other's to see.
        let isOwnServer = try isOnTheStoresServer()
        request.limit = options.transferLimit
        request.lease = lease
        request.offers = isOwnServer || options.offers == .none ? options.offers : .all
        let credentials = isOwnServer ? options.credentials : nil
        if request.transport == .automatic {
            // To a folder libgit2 pushes without a lock, so that of two who push at the same time one is lost, and it
            // runs no hooks there.
            let isGits = TransferRequest.isFolder(url) || store.fact(target.fact("transport")) == "git"
            request.transport = isGits ? .git : .libgit2
        }
        let answer: (isThere: Bool, tip: ObjectID?)
        do throws(TransferFailure) {
            answer = try await run(request, credentials)
        } catch {
            guard options.transport == .automatic, request.transport == .libgit2, mayNeedGit(error) else {
                throw failure(error, operation)
            }
            request.transport = .git
            do throws(TransferFailure) {
                answer = try await run(request, credentials)
            } catch let second {
                // The sentence about a host key names its fingerprint; git's does not.
                throw failure(error.code == .certificate ? error : second, operation)
            }
            store.remember("git", as: target.fact("transport"))
            log.notice(
                "using the git program for \"\(target.remote)\", as libgit2 cannot connect: \(error.message)")
        }
        try reopen()
        return answer
    }

    private nonisolated(nonsending) func run(
        _ request: TransferRequest, _ credentials: (@Sendable (CredentialRequest) -> Credential?)?
    ) async throws(TransferFailure) -> (isThere: Bool, tip: ObjectID?) {
        let process = TransferProcess(
            program: options.program, timeout: options.pushTimeout, credentials: credentials,
            progress: { [state] progress in
                let doing = request.operation == .push ? "pushing" : "fetching"
                let isCounted = progress.totalObjects > 0
                state.setActivity(
                    isCounted ? "\(doing) \(progress.objects) of \(progress.totalObjects) objects" : doing)
            })
        do throws(TransferFailure) {
            return (true, try await process.run(request))
        } catch {
            // Nothing there yet: an empty repository takes our push.
            if request.operation != .push, error.code == .noBranch { return (false, nil) }
            throw error
        }
    }

    /// Keys that this libssh2 cannot use, hosts that only ssh's configuration knows, shallow clones.
    private func mayNeedGit(_ failure: TransferFailure) -> Bool {
        if failure.code == .unsupported { return true }
        // ssh would offer what libgit2 was not to.
        if options.offers == .none, failure.code == .authentication { return false }
        let url = url
        let isSSH =
            url.hasPrefix("ssh://") || !url.contains("://") && url.contains(":") && !url.hasPrefix("/")
        return isSSH && [.authentication, .certificate, .network, .other].contains(failure.code)
    }

    private func failure(
        _ failure: TransferFailure, _ operation: TransferRequest.Operation
    ) -> SyncFailure {
        if failure.code == .unsound {
            return refusal(
                "what the server sent is damaged or incomplete: \(failure.message)", kind: .unsound)
        }
        let doing = operation == .push ? "the push to" : "the fetch from"
        let remote = GitError.withoutPasswords(target.remote)
        let hint =
            switch failure.code {
            case .authentication: " It is not retried until passdir sync or the next mount."
            case .redirected:
                " If the repository has moved there, run passdir store reclone --url, or git remote set-url."
            default: ""
            }
        return SyncFailure(
            kind: .transfer(failure), message: "\(doing) \"\(remote)\" failed: \(failure.message).\(hint)")
    }
}
