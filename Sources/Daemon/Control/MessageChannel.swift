import Glibc
import System
import SystemPackage

/// One end of a Varlink connection: messages, each ended by a NUL byte, with bounded size and bounded waits.
///
/// Does not own the socket: who made it closes it.
struct MessageChannel: ~Copyable {
    /// What came in.
    enum Received: Equatable {
        case message([UInt8])
        /// The other side closed, or sent half a message and closed.
        case end
        /// A message longer than the limit; nothing after it can be read.
        case tooLong
        case timedOut
    }

    private let socket: Int32
    private let limit: Int
    private var buffered: [UInt8] = []

    /// - Parameter limit: the greatest message in bytes, without its NUL.
    init(socket: Int32, limit: Int) {
        self.socket = socket
        self.limit = limit
    }

    /// Waits for the next message.
    mutating func receive(until deadline: ContinuousClock.Instant) throws(Errno) -> Received {
        var searched = 0
        while true {
            if let end = buffered[searched...].firstIndex(of: 0) {
                guard end <= limit else { return .tooLong }
                let message = Array(buffered[..<end])
                buffered.removeSubrange(...end)
                return .message(message)
            }
            searched = buffered.count
            guard searched <= limit else { return .tooLong }
            guard try Poll.wait(for: POLLIN, on: socket, until: deadline) else { return .timedOut }
            let received = withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) { chunk in
                let count = recv(socket, chunk.baseAddress, chunk.count, Int32(MSG_DONTWAIT))
                if count > 0 { buffered.append(contentsOf: chunk.prefix(count)) }
                return count
            }
            if received == 0 { return .end }
            if received < 0, errno != EAGAIN, errno != EINTR {
                if errno == ECONNRESET { return .end }
                throw Errno(rawValue: errno)
            }
        }
    }

    /// Sends one message and its NUL; false when the other side did not take it in time.
    func send(_ message: [UInt8], until deadline: ContinuousClock.Instant) throws(Errno) -> Bool {
        let bytes = message + [0]
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                let rest = all[sent...]
                return Glibc.send(
                    socket, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count,
                    Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                guard try Poll.wait(for: POLLOUT, on: socket, until: deadline) else { return false }
            } else if errno != EINTR {
                throw Errno(rawValue: errno)
            }
        }
        return true
    }
}
