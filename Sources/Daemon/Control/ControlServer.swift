import CLinux
import Glibc
import Synchronization
import SystemPackage

/// Serves the control protocol at a Unix socket, to processes of our own user only.
///
/// One plain thread accepts, one plain thread serves each connection: an `Unmount` that waits for a push
/// leaves `Status` answered.
public final class ControlServer: Sendable {
    /// A call is a few hundred bytes; more than this is a mistake or an attack.
    static let callLimit = 64 * 1024
    /// Connections at a time; one more is closed at once.
    static let connectionLimit = 32
    /// How long a connection may stay silent, and how long a reply may take to be taken.
    static let patience = Duration.seconds(30)

    private struct State: ~Copyable {
        var socket: ControlSocket?
        var connections: Set<Int32> = []
        var isAccepting = false
        var isStopping = false
    }

    private let dispatch: ControlDispatch
    private let listening: Int32
    private let state: Mutex<State>
    /// Written to by `stop()`: ends the accepting thread's poll.
    private let wake: Pipe
    /// Written to whenever a thread of ours has ended.
    private let ended: Pipe

    /// Listens at a socket path; connections wait until `start()`.
    ///
    /// - Throws: `alreadyRunning` when a daemon listens there already, `refused` when the folder of the socket
    ///   belongs to somebody else, `failed` for what the system refuses.
    public init(socket path: FilePath, service: any ControlService) throws(ControlError) {
        dispatch = ControlDispatch(service: service)
        do throws(Errno) {
            wake = try Pipe()
            ended = try Pipe()
        } catch {
            throw ControlError(.failed, "cannot make a pipe: \(error)")
        }
        let socket = try ControlSocket(listeningAt: path)
        listening = socket.listening
        state = Mutex(State(socket: consume socket))
    }

    deinit {
        state.withLock { $0.socket.take()?.end() }
    }

    /// Begins to answer.
    ///
    /// - Throws: `failed` when no thread can be started.
    public func start() throws(ControlError) {
        let mayStart = state.withLock { state in
            guard !state.isAccepting, !state.isStopping else { return false }
            state.isAccepting = true
            return true
        }
        guard mayStart else { return }
        do throws(Errno) {
            try PlainThread.start(named: "control") { self.accept() }
        } catch {
            state.withLock { $0.isAccepting = false }
            throw ControlError(.failed, "cannot start the control thread: \(error)")
        }
    }

    /// Takes no more connections, lets replies in progress go out (for at most `limit`), removes the socket.
    ///
    /// Not to be called from within a call of the service: it waits for that call's reply.
    public func stop(limit: Duration = .seconds(5)) {
        let deadline = ContinuousClock.now + limit
        state.withLock { state in
            state.isStopping = true
            // What a connection has sent is still answered; it reads an end of file after that.
            for connection in state.connections { shutdown(connection, Int32(SHUT_RD)) }
        }
        wake.signal()
        while state.withLock({ $0.isAccepting || !$0.connections.isEmpty }) {
            guard (try? Wait.until(POLLIN, on: ended.reading, deadline: deadline)) == true else { break }
            ended.drain()
        }
        state.withLock { $0.socket.take()?.end() }
    }

    private func accept() {
        let never = ContinuousClock.now + .seconds(1 << 32)
        while !state.withLock({ $0.isStopping }) {
            var entries = [
                pollfd(fd: listening, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&entries, nfds_t(entries.count), -1)
            guard !state.withLock({ $0.isStopping }) else { break }
            let connection = Glibc.accept(listening, nil, nil)
            if connection >= 0 {
                serve(connection)
            } else if errno == EMFILE || errno == ENFILE || errno == ENOMEM {
                // The connection still waits, so poll returns at once: give others time to close something.
                _ = try? Wait.until(POLLIN, on: wake.reading, deadline: min(never, .now + .milliseconds(100)))
            }
        }
        state.withLock { $0.isAccepting = false }
        ended.signal()
    }

    private func serve(_ connection: Int32) {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        let isTaken =
            passdir_peer_uid(connection) == Int64(geteuid())
            && state.withLock { state in
                guard !state.isStopping, state.connections.count < Self.connectionLimit else { return false }
                return state.connections.insert(connection).inserted
            }
        guard isTaken else {
            close(connection)
            return
        }
        do throws(Errno) {
            try PlainThread.start(named: "control call") {
                self.converse(connection)
                self.end(connection)
            }
        } catch {
            end(connection)
        }
    }

    private func converse(_ connection: Int32) {
        var channel = MessageChannel(socket: connection, limit: Self.callLimit)
        while let received = try? channel.receive(until: .now + Self.patience) {
            let reply: [UInt8]?
            switch received {
            case .message(let message): reply = dispatch.reply(to: message)
            case .tooLong: reply = dispatch.replyToTooLong()
            case .end, .timedOut: return
            }
            if let reply {
                guard (try? channel.send(reply, until: .now + Self.patience)) == true else { return }
            }
            if received == .tooLong { return }
        }
    }

    private func end(_ connection: Int32) {
        state.withLock { state in
            // Closed under the lock: `stop()` must not shut down a descriptor that is somebody else's by now.
            state.connections.remove(connection)
            close(connection)
        }
        ended.signal()
    }
}
