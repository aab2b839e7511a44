import CLinux
import Glibc
import Synchronization
import System
import SystemPackage

/// Serves the control protocol at a Unix socket, to processes of our own user only.
///
/// One plain thread accepts, one plain thread serves each connection: an `Unmount` that waits for a push
/// leaves `Status` answered.
public final class ControlServer: Sendable {
    /// A call is a few hundred bytes; more than this is a mistake or an attack.
    static let callLimit = 64 * 1024
    /// Connections at a time. One more takes the place of the one that has waited longest without a call, so that nobody
    /// keeps others out by doing nothing, or else of the one with the most calls. Nobody's only call is ended: where all
    /// are in theirs, one more waits for the first that is answered.
    static let connectionLimit = 32
    /// As many more may be about to end.
    static let endingLimit = 32
    /// How long a connection may stay silent, and how long a reply may take to be taken.
    static let patience = Duration.seconds(30)

    /// What a connection is doing.
    private struct Connection {
        /// Greater for those that came, or called, later.
        var turn: Int
        /// The service is answering a call of it.
        var isInCall = false
        /// Its calls so far.
        var calls = 0
        /// It was shut down, and its thread is about to notice.
        var isEnding = false
    }

    private struct State: ~Copyable {
        var socket: ControlSocket?
        var connections: [Int32: Connection] = [:]
        /// Counts connections, for their order.
        var number = 0
        var isAccepting = false
        var isStopping = false
    }

    private let dispatch: ControlDispatch
    private let listening: Int32
    private let state: Mutex<State>
    /// Written to by `stop()`: ends the accepting thread's poll.
    private let wake: WakeupPipe
    /// Written to whenever a thread of ours has ended or answered a call.
    private let freed: WakeupPipe

    /// Listens at a socket path; connections wait until `start()`.
    ///
    /// - Throws: `alreadyRunning` when a daemon listens there already, `refused` when the folder of the socket
    ///   belongs to somebody else, `failed` for what the system refuses.
    public init(socket path: FilePath, service: any ControlService) throws(ControlError) {
        dispatch = ControlDispatch(service: service)
        do throws(Errno) {
            wake = try WakeupPipe()
            freed = try WakeupPipe()
        } catch {
            throw ControlError(.failed, "cannot create a pipe: \(error)")
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
            try PosixThread.start(named: "control") { self.accept() }
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
            for connection in state.connections.keys { shutdown(connection, Int32(SHUT_RD)) }
        }
        wake.signal()
        while state.withLock({ $0.isAccepting || !$0.connections.isEmpty }) {
            guard (try? Poll.wait(for: POLLIN, on: freed.reading, until: deadline)) == true else { break }
            freed.drain()
        }
        state.withLock { $0.socket.take()?.end() }
    }

    private func accept() {
        while !state.withLock({ $0.isStopping }) {
            var entries = [
                pollfd(fd: listening, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0),
            ]
            _ = try? Poll.wait(for: &entries, until: nil)
            guard !state.withLock({ $0.isStopping }) else { break }
            let connection = passdir_accept(listening)
            if connection >= 0 {
                serve(connection)
            } else if errno == EMFILE || errno == ENFILE || errno == ENOMEM {
                // The connection still waits, so poll returns at once: give others time to close something.
                _ = try? Poll.wait(for: POLLIN, on: wake.reading, until: .now + .milliseconds(100))
            }
        }
        state.withLock { $0.isAccepting = false }
        freed.signal()
    }

    private func serve(_ connection: Int32) {
        guard passdir_peer_uid(connection) == Int64(geteuid()) else {
            close(connection)
            return
        }
        // Those that are to end need a moment for it, and so do calls.
        let deadline = ContinuousClock.now + .seconds(2)
        var isTaken = take(connection)
        while isTaken == nil, (try? Poll.wait(for: POLLIN, on: freed.reading, until: deadline)) == true {
            freed.drain()
            isTaken = take(connection)
        }
        guard isTaken == true else {
            close(connection)
            return
        }
        do throws(Errno) {
            try PosixThread.start(named: "control call") {
                self.converse(connection)
                self.end(connection)
            }
        } catch {
            // The others wait, but `status` can say how things are where nothing else can be started.
            converse(connection, patience: .seconds(2), isOneCall: true)
            end(connection)
        }
    }

    /// Takes a connection on, and ends another one where there are many; false when the server stops, nil while too many
    /// are about to end or all are in their only call.
    private func take(_ connection: Int32) -> Bool? {
        state.withLock { state in
            guard !state.isStopping else { return false }
            let living = state.connections.filter { !$0.value.isEnding }
            if living.count >= Self.connectionLimit {
                guard state.connections.count < Self.connectionLimit + Self.endingLimit else { return nil }
                let idle = living.filter { !$0.value.isInCall }.min { $0.value.turn < $1.value.turn }
                let busy = living.filter { $0.value.calls > 1 }.max { $0.value.calls < $1.value.calls }
                guard let victim = (idle ?? busy)?.key else { return nil }
                state.connections[victim]?.isEnding = true
                shutdown(victim, Int32(SHUT_RDWR))
            }
            state.number += 1
            state.connections[connection] = Connection(turn: state.number)
            return true
        }
    }

    private func beginCall(of connection: Int32) {
        state.withLock { state in
            state.number += 1
            state.connections[connection]?.turn = state.number
            state.connections[connection]?.isInCall = true
            state.connections[connection]?.calls += 1
        }
    }

    private func endCall(of connection: Int32) {
        state.withLock { $0.connections[connection]?.isInCall = false }
        freed.signal()
    }

    private func converse(
        _ connection: Int32, patience: Duration = ControlServer.patience, isOneCall: Bool = false
    ) {
        var channel = MessageChannel(socket: connection, limit: Self.callLimit)
        let peer = ControlPeer(process: passdir_peer_pid(connection), connection: connection)
        while let received = try? channel.receive(until: .now + patience) {
            switch received {
            case .message(let message):
                beginCall(of: connection)
                // Not before the reply is out: who takes its place meanwhile would cut it off.
                defer { endCall(of: connection) }
                if let reply = dispatch.reply(to: message, of: peer) {
                    guard (try? channel.send(reply, until: .now + patience)) == true else { return }
                }
                if isOneCall { return }
            case .tooLong:
                if let reply = dispatch.replyToTooLong() {
                    _ = try? channel.send(reply, until: .now + patience)
                }
                return
            case .end, .timedOut: return
            }
        }
    }

    private func end(_ connection: Int32) {
        state.withLock { state in
            // Closed under the lock: `stop()` must not shut down a descriptor that is somebody else's by now.
            state.connections[connection] = nil
            close(connection)
        }
        freed.signal()
    }
}
