import Git
import Glibc
import Stores
import System
import SystemPackage

/// The child process of a transfer.
public enum TransferCommand {
    /// The hidden command of the program that runs a transfer.
    public static let name = "transfer"

    /// Does what `arguments`, the words behind the command's name, ask for, and tells the committer over the inherited
    /// socket how it went. Whether it succeeded.
    public static func run(_ arguments: [String]) -> Bool {
        let channel = TransferChannel(descriptor: TransferChannel.inherited)
        guard let request = TransferRequest(arguments: arguments) else {
            channel.send(
                .failed(TransferFailure(code: .other, message: "a transfer was asked for in unknown words")))
            return false
        }
        if let objection = RemoteURL.objection(to: LibGit2Transfer.url(request)) {
            channel.send(
                .failed(
                    TransferFailure(
                        code: .other, message: "the remote's URL is not used because \(objection)")))
            return false
        }
        TransferBounds.set()
        do throws(Errno) {
            try endWithCommitter(request)
        } catch {
            channel.send(
                .failed(TransferFailure(code: .other, message: "no thread for a transfer: \(error)")))
            return false
        }
        if request.operation == .fetch { TransferLimits.apply(bytes: request.limit) }
        do throws(TransferFailure) {
            let tip =
                switch request.transport {
                case .git: try GitProgram.run(request)
                case .libgit2, .automatic: try LibGit2Transfer(channel: channel).run(request)
                }
            channel.send(.succeeded(tip: tip))
            return true
        } catch {
            let isTooMuch = request.operation == .fetch && TransferLimits.caused(error.message)
            channel.send(.failed(isTooMuch ? tooMuch(request) : error))
            return false
        }
    }

    fileprivate static func tooMuch(_ request: TransferRequest) -> TransferFailure {
        TransferFailure(code: .other, message: TransferLimits.sentence(bytes: request.limit))
    }

    /// When the committer is gone nobody waits for the transfer: the other end of the socket tells.
    ///
    /// To a remote in a folder it is nevertheless brought to its end, which takes moments and is what the user wants.
    /// git takes its locks away when it is asked to end, but not the one that it is just making; in such a remote nobody
    /// else ever would, and no push would go there any more.
    private static func endWithCommitter(_ request: TransferRequest) throws(Errno) {
        try PosixThread.start(named: "committer watch") {
            while true {
                var entry = pollfd(fd: TransferChannel.inherited, events: 0, revents: 0)
                guard poll(&entry, 1, -1) > 0 || errno != EINTR else { continue }
                // The process ends with its transfer, and so does this thread.
                if TransferRequest.isFolder(LibGit2Transfer.url(request)) { sleep(20) }
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
    let channel: TransferChannel

    static func url(_ request: TransferRequest) -> String {
        let repository = try? Repository.open(gitDirectory: request.repository)
        let url =
            request.operation == .push
            ? repository?.pushURL(ofRemote: request.remote) : repository?.url(ofRemote: request.remote)
        return url ?? request.remote
    }

    func run(_ request: TransferRequest) throws(TransferFailure) -> ObjectID? {
        let hosts = HostTrust(url: Self.url(request))
        let offers = CredentialOffers(channel: channel, request.offers)
        let pace = ProgressPace(channel: channel)
        let callbacks = TransferCallbacks(
            credentials: { offers.next($0) }, certificateCheck: { hosts.judge($0) },
            progress: {
                pace.tell($0)
                return request.operation == .push || TransferLimits.allow($0, bytes: request.limit)
            })
        var isThere = true
        var tip: ObjectID?
        do throws(GitError) {
            let repository = try Repository.open(gitDirectory: request.repository)
            if let authorities = repository.config("http.sslCAInfo") {
                LibGit2.trustCertificates(in: FilePath(authorities))
            }
            if repository.isShallow {
                throw GitError(
                    code: .unsupported, message: "this is a shallow clone, which libgit2 cannot transfer")
            }
            // By URL, so that the references of `git fetch` and `git push` are left to those: two who move one at the
            // same time fail for each other.
            switch request.operation {
            case .push:
                try repository.push(
                    remote: Self.url(request),
                    localRef: request.localRef, remoteRef: request.remoteRef, replacing: request.lease,
                    callbacks: callbacks)
            case .fetch:
                let names = try repository.fetch(
                    remote: repository.url(ofRemote: request.remote) ?? request.remote,
                    refspecs: ["+\(request.remoteRef):\(request.trackingRef)"],
                    callbacks: callbacks)
                isThere = names.contains(request.remoteRef)
            case .ask:
                tip = try repository.askTip(
                    of: request.remoteRef, ofRemoteAt: Self.url(request), callbacks: callbacks)
                isThere = tip != nil
            }
        } catch {
            if error.code == .cancelled { throw TransferCommand.tooMuch(request) }
            let message = error.code == .certificate ? hosts.complaint ?? error.message : error.message
            let isUnsound = request.operation == .fetch && error.code == .corrupt
            throw TransferFailure(code: isUnsound ? .unsound : .init(error.code), message: message)
        }
        guard isThere else {
            throw TransferFailure(code: .noBranch, message: "the remote has no branch \(request.remoteRef)")
        }
        return tip
    }
}
