public import Git
import Glibc
import System
public import SystemPackage

/// Runs a transfer in a child process and ends it when its time is over: libgit2 has no time-outs on sockets, a
/// process can be killed.
public struct TransferProcess: Sendable {
    private let program: FilePath
    private let timeout: Duration
    private let credentials: (@Sendable (CredentialRequest) -> Credential?)?
    private let progress: @Sendable (TransferProgress) -> Void

    private static let silence = "the transfer process exited without a result"

    /// So many bytes of an object are a progress.
    private static let worthwhile = 64 << 10

    /// - Parameters:
    ///   - program: the one whose `transfer` command does the work: our own.
    ///   - timeout: how long the server may take, counted anew with every progress.
    ///   - credentials: what the server is offered; may wait.
    ///   - progress: told how far it is.
    public init(
        program: FilePath = "/proc/self/exe", timeout: Duration,
        credentials: (@Sendable (CredentialRequest) -> Credential?)?,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) {
        (self.program, self.timeout) = (program, timeout)
        (self.credentials, self.progress) = (credentials, progress)
    }

    /// Runs on a thread of its own; no thread of Swift's pool waits.
    /// - Returns: what the branch leads to, where the request was to ask that.
    @discardableResult
    public nonisolated(nonsending) func run(_ request: TransferRequest) async throws(TransferFailure)
        -> ObjectID?
    {
        let outcome: Result<ObjectID?, TransferFailure> = await PosixThread.run(named: "transfer") {
            Result { () throws(TransferFailure) in try runBlocking(request) }
        }
        return try outcome.get()
    }

    /// As `run`, on this thread.
    /// - Parameters:
    ///   - isWanted: asked several times a second; false ends it.
    ///   - listed: told what a list has found, in pieces.
    /// - Throws: `.cancelled` where it was not wanted any more.
    @discardableResult
    public func runBlocking(
        _ request: TransferRequest, isWanted: (TransferProgress) -> Bool = { _ in true },
        listed: ([ObjectID]) -> Void = { _ in }
    ) throws(TransferFailure) -> ObjectID? {
        var ends: [CInt] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw TransferFailure(
                code: .other, message: "cannot create a socket for a transfer: \(Errno(rawValue: errno))")
        }
        let (ours, theirs) = (ends[0], ends[1])
        defer { close(ours) }
        let child: ChildProcess
        do throws(Errno) {
            defer { close(theirs) }
            child = try ChildProcess(
                [program.string, TransferCommand.name], environment: ProcessEnvironment.forGit,
                descriptors: [nil, nil, nil, theirs])
        } catch {
            throw TransferFailure(code: .other, message: "cannot start a transfer: \(error)")
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
            return try converse(TransferChannel(descriptor: ours), request, isWanted, listed)
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
                message: "libgit2 was killed by signal \(signal) while handling what the server sent")
        }
    }

    private func converse(
        _ channel: TransferChannel, _ request: TransferRequest, _ isWanted: (TransferProgress) -> Bool,
        _ listed: ([ObjectID]) -> Void
    ) throws(TransferFailure) -> ObjectID? {
        channel.send(request)
        var end = ContinuousClock.now + timeout
        var last: TransferProgress?
        var latest = TransferProgress(objects: 0, totalObjects: 0, bytes: 0)
        // A server that lets something trickle in for ever gets no more time either.
        var lastObject = ContinuousClock.now
        while true {
            guard isWanted(latest) else {
                throw TransferFailure(
                    code: .cancelled,
                    message: request.operation == .clone
                        ? "the clone was stopped" : "the transfer was stopped")
            }
            let step = ContinuousClock.now + .milliseconds(200)
            guard (try? Poll.wait(for: POLLIN, on: channel.descriptor, until: step)) == true else {
                if .now < end { continue }
                throw TransferFailure(
                    code: .timedOut,
                    message: "\(GitError.withoutPasswords(request.remote)) did not answer within "
                        + "\(timeout.components.seconds) s")
            }
            switch channel.receive() {
            case .progress(let progress):
                latest = progress
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
            case .listed(let tips):
                listed(tips)
                end = .now + timeout
            case .succeeded(let tip): return tip
            case .failed(let failure): throw failure
            case nil:
                throw TransferFailure(code: .other, message: Self.silence)
            }
        }
    }
}
