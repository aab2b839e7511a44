import Git
import Glibc
import OpenPGP
import System
import SystemPackage

/// The child process of a transfer: it reads from the inherited socket what is asked for, and tells there how it goes.
public enum TransferCommand {
    /// The hidden command of the program that runs a transfer.
    public static let name = "transfer"

    /// Does what is asked for. Whether it succeeded.
    public static func run() -> Bool {
        let channel = TransferChannel(descriptor: TransferChannel.inherited)
        do throws(TransferFailure) {
            guard let request = channel.receiveRequest() else {
                throw TransferFailure(code: .other, message: "the transfer request was not understood")
            }
            channel.send(.succeeded(tip: try run(request, channel)))
            return true
        } catch {
            channel.send(.failed(error))
            return false
        }
    }

    private static func run(
        _ request: TransferRequest, _ channel: TransferChannel
    ) throws(TransferFailure) -> ObjectID? {
        let transfer = LibGit2Transfer(request: request, channel: channel)
        if let objection = RemoteURL.objection(to: transfer.url) {
            let what =
                request.operation == .clone ? "cannot clone from this URL" : "the remote's URL cannot be used"
            throw TransferFailure(code: .other, message: "\(what) because \(objection)")
        }
        try rethrowing(endWithStarter(of: request, transfer.url)) { (error: Errno) in
            TransferFailure(code: .other, message: "cannot start a transfer thread: \(error)")
        }
        let brings = [.fetch, .list, .clone].contains(request.operation)
        TransferLimits.apply(bytes: brings ? request.limit : nil)
        do throws(TransferFailure) {
            guard request.transport == .git else { return try transfer.run() }
            return try GitProgram.run(request, listed: channel.send(listed:))
        } catch {
            throw brings && TransferLimits.caused(error.message) ? tooMuch(request) : error
        }
    }

    fileprivate static func tooMuch(_ request: TransferRequest) -> TransferFailure {
        let what = request.operation == .clone ? "cannot clone \(request.remote): " : ""
        return TransferFailure(code: .other, message: what + TransferLimits.sentence(bytes: request.limit))
    }

    /// When whoever started it is gone nobody waits for the transfer: the other end of the socket tells, also of a process
    /// that was killed.
    ///
    /// To a remote in a folder a push is nevertheless brought to its end, which takes moments and is what the user wants.
    /// git takes its locks away when it is asked to end, but not the one that it is just making; in such a remote nobody
    /// else ever would, and no push would go there any more.
    private static func endWithStarter(of request: TransferRequest, _ url: String) throws(Errno) {
        let mayLeaveLock = request.operation == .push && TransferRequest.isFolder(url)
        try PosixThread.start(named: "starter watch") {
            while true {
                _ = try? Poll.wait(for: 0, on: TransferChannel.inherited, until: nil)
                // The process ends with its transfer, and so does this thread.
                if mayLeaveLock { sleep(20) }
                // The group: the git program and its helpers too.
                signal(SIGTERM, SIG_IGN)
                kill(0, SIGTERM)
                if request.transport == .git { sleep(2) }
                kill(0, SIGKILL)
            }
        }
    }
}

/// A transfer through libgit2.
private struct LibGit2Transfer {
    let request: TransferRequest
    let channel: TransferChannel

    /// Of the repository; nil where there is none yet.
    private var repository: Repository? {
        request.operation == .clone ? nil : try? Repository.open(gitDirectory: request.repository)
    }

    var url: String {
        let (repository, remote) = (repository, request.remote)
        return switch request.operation {
        case .push: repository?.pushURL(ofRemote: remote) ?? remote
        case .fetch, .ask: repository?.url(ofRemote: remote) ?? remote
        case .list, .clone: remote
        }
    }

    func run() throws(TransferFailure) -> ObjectID? {
        let hosts = HostTrust(url: url)
        let offers = CredentialOffers(channel: channel, request.offers)
        let pace = ProgressPace(channel: channel)
        // Where there is no store of ours yet: the user's settings count, and no repository's.
        let isByURL = request.operation == .clone || request.operation == .list
        var callbacks = TransferCallbacks(
            credentials: { offers.next($0) },
            progress: {
                pace.tell($0)
                return request.operation == .push || TransferLimits.allow($0, bytes: request.limit)
            })
        if !isByURL { callbacks.certificateCheck = { hosts.judge($0) } }
        let answer: (isThere: Bool, tip: ObjectID?)
        do throws(GitError) {
            let authorities =
                isByURL ? UserConfiguration.string("http.sslCAInfo") : repository?.config("http.sslCAInfo")
            if let authorities { LibGit2.trustCertificates(in: FilePath(authorities)) }
            answer = try run(callbacks)
        } catch {
            if error.code == .cancelled { throw TransferCommand.tooMuch(request) }
            var message = error.code == .certificate ? hosts.complaint ?? error.message : error.message
            if error.code == .certificate, isByURL, !url.hasPrefix("https:") {
                let url = ShellWord.quoted(GitError.withoutPasswords(url))
                message += "; passdir store trust-host \(url) shows the server's key, and accepts it"
            }
            throw TransferFailure(code: .init(error.code, of: request.operation), message: message)
        }
        guard answer.isThere else {
            throw TransferFailure(code: .noBranch, message: "the remote has no branch \(request.remoteRef)")
        }
        return answer.tip
    }

    private func run(
        _ callbacks: TransferCallbacks
    ) throws(GitError) -> (isThere: Bool, tip: ObjectID?) {
        switch request.operation {
        case .clone:
            _ = try Repository.clone(
                url, to: request.repository, branch: request.remoteRef.isEmpty ? nil : request.remoteRef,
                bounds: TreeBounds(file: request.fileLimit, total: request.limit), callbacks: callbacks)
            return (true, nil)
        case .list:
            try Repository.open(bare: request.repository).askTips(
                ofRemoteAt: url, callbacks: callbacks, listed: channel.send(listed:))
            return (true, nil)
        case .push, .fetch, .ask: break
        }
        let repository = try Repository.open(gitDirectory: request.repository)
        if repository.isShallow {
            throw GitError(
                code: .unsupported, message: "this is a shallow clone, which libgit2 cannot transfer")
        }
        // By URL, so that the references of `git fetch` and `git push` are left to those: two who move one at the
        // same time fail for each other.
        switch request.operation {
        case .push:
            try repository.push(
                remote: url, localRef: request.localRef, remoteRef: request.remoteRef,
                replacing: request.lease, callbacks: callbacks)
            return (true, nil)
        case .fetch:
            let names = try repository.fetch(
                remote: url, refspecs: ["+\(request.remoteRef):\(request.trackingRef)"], callbacks: callbacks)
            return (names.contains(request.remoteRef), nil)
        default:
            let tip = try repository.askTip(of: request.remoteRef, ofRemoteAt: url, callbacks: callbacks)
            return (tip != nil, tip)
        }
    }
}
