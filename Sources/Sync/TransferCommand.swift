import Git
import Glibc
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
        endWithCommitter()
        do throws(TransferFailure) {
            switch request.transport {
            case .git: try GitProgram.run(request)
            case .libgit2, .automatic: try LibGit2Transfer(channel: channel).run(request)
            }
            channel.send(.succeeded)
            return true
        } catch {
            channel.send(.failed(error))
            return false
        }
    }

    /// When the committer is gone nobody needs the transfer: the other end of the socket tells.
    private static func endWithCommitter() {
        PlainThread.start {
            while true {
                var entry = pollfd(fd: TransferChannel.inherited, events: 0, revents: 0)
                guard poll(&entry, 1, -1) > 0 || errno != EINTR else { continue }
                // The group: the git program and its helpers too. Asked to end, git takes its locks away, those in a
                // remote that is a folder among them, where nobody else ever would; then the transfer ends by itself.
                signal(SIGTERM, SIG_IGN)
                kill(0, SIGTERM)
                usleep(2_000_000)
                kill(0, SIGKILL)
            }
        }
    }
}

/// A transfer through libgit2.
private struct LibGit2Transfer {
    let channel: TransferChannel

    private static func url(_ request: TransferRequest) -> String {
        let repository = try? Repository.open(request.repository)
        let url =
            request.operation == .push
            ? repository?.pushURL(ofRemote: request.remote) : repository?.url(ofRemote: request.remote)
        return url ?? request.remote
    }

    func run(_ request: TransferRequest) throws(TransferFailure) {
        let hosts = HostTrust(url: Self.url(request))
        let offers = CredentialOffers(channel: channel, request.offers)
        let pace = ProgressPace(channel: channel)
        let callbacks = TransferCallbacks(
            credentials: { offers.next($0) }, certificateCheck: { hosts.judge($0) },
            progress: {
                pace.tell($0)
                return true
            })
        do throws(GitError) {
            let repository = try Repository.open(request.repository)
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
                    localRef: request.localRef, remoteRef: request.remoteRef, callbacks: callbacks)
            case .fetch:
                try repository.fetch(
                    remote: repository.url(ofRemote: request.remote) ?? request.remote,
                    refspecs: ["+\(request.remoteRef):\(request.trackingRef)"],
                    callbacks: callbacks)
            }
        } catch {
            let message = error.code == .certificate ? hosts.complaint ?? error.message : error.message
            throw TransferFailure(code: .init(error.code), message: message)
        }
    }
}
