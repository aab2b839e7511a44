import Git
import Glibc
import System
import SystemPackage

/// Runs a transfer in a child process and ends it when its time is over: libgit2 has no time-outs on sockets, a
/// process can be killed.
struct TransferProcess: Sendable {
    /// The program whose `transfer` command does the work: our own.
    var program: FilePath
    /// How long the server may take, counted anew with every progress.
    var timeout: Duration
    /// What the server is offered.
    var credentials: (@Sendable (CredentialRequest) -> Credential?)?
    /// Told how far it is.
    var progress: @Sendable (TransferProgress) -> Void

    private static let silence = "the transfer process ended without a word"

    /// So many bytes of an object are a progress.
    private static let worthwhile = 64 << 10

    /// Runs on a thread of its own; no thread of Swift's pool waits.
    /// - Returns: what the branch leads to, where the request was to ask that.
    @discardableResult
    nonisolated(nonsending) func run(_ request: TransferRequest) async throws(TransferFailure) -> ObjectID? {
        let outcome: Result<ObjectID?, TransferFailure> = await PosixThread.run(named: "transfer") {
            Result { () throws(TransferFailure) in try runBlocking(request) }
        }
        return try outcome.get()
    }

    @discardableResult
    func runBlocking(_ request: TransferRequest) throws(TransferFailure) -> ObjectID? {
        var ends: [CInt] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw TransferFailure(
                code: .other, message: "no socket for a transfer: \(Errno(rawValue: errno))")
        }
        let (ours, theirs) = (ends[0], ends[1])
        defer { close(ours) }
        let child: ChildProcess
        do throws(Errno) {
            defer { close(theirs) }
            child = try ChildProcess(
                [program.string] + request.arguments, environment: ProcessEnvironment.forGit,
                descriptors: [nil, nil, nil, theirs])
        } catch {
            throw TransferFailure(code: .other, message: "a transfer cannot be started: \(error)")
        }
        var isWaitedFor = false
        defer {
            // The end of the socket tells it to end, which it does by itself; else, and what it left in its group.
            shutdown(ours, CInt(SHUT_RDWR))
            if !isWaitedFor {
                child.waitForEnd(atMost: .seconds(5))
                child.kill()
                child.wait()
            }
        }
        do throws(TransferFailure) {
            return try converse(TransferChannel(descriptor: ours), request)
        } catch {
            guard error.message == Self.silence else { throw error }
            child.waitForEnd(atMost: .seconds(5))
            child.kill()
            isWaitedFor = true
            guard case .signalled(let signal) = child.wait(),
                [SIGSEGV, SIGBUS, SIGABRT, SIGFPE].contains(signal), request.transport != .git
            else { throw error }
            // What libgit2 dies of, git may be able to do, or to say what is wrong.
            throw TransferFailure(
                code: .unsupported,
                message: "libgit2 ended by signal \(signal) over what the server sent")
        }
    }

    private func converse(
        _ channel: TransferChannel, _ request: TransferRequest
    ) throws(TransferFailure) -> ObjectID? {
        var end = ContinuousClock.now + timeout
        var last: TransferProgress?
        // A server that lets something trickle in for ever gets no more time either.
        var lastObject = ContinuousClock.now
        while true {
            var entry = pollfd(fd: channel.descriptor, events: Int16(POLLIN), revents: 0)
            let left = max(end - .now, .zero)
            let milliseconds =
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            let ready = poll(&entry, 1, Int32(clamping: milliseconds))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else {
                throw TransferFailure(
                    code: .timedOut,
                    message: "\(GitError.withoutPasswords(request.remote)) did not answer within "
                        + "\(timeout.components.seconds) s")
            }
            switch channel.receive() {
            case .progress(let progress):
                if progress.objects != last?.objects { lastObject = .now }
                // Bytes alone count where they are worth the name, and not for ever.
                let isWorthwhile =
                    progress.objects != last?.objects
                    || progress.bytes >= (last?.bytes ?? 0) + Self.worthwhile
                if isWorthwhile {
                    end = min(.now + timeout, lastObject + timeout * 60)
                    last = progress
                }
                self.progress(progress)
            case .wanted(let request):
                channel.send(credentials?(request))
                end = .now + timeout
            case .succeeded(let tip): return tip
            case .failed(let failure): throw failure
            case nil:
                throw TransferFailure(code: .other, message: Self.silence)
            }
        }
    }
}
