import CFuse
import Glibc
import SystemPackage

/// The loop of one receiving thread. libfuse reads a request into our memory and calls the callbacks of
/// `operationTable`, which answer or hand over to a worker.
// Sendable because each memory belongs to one receiver, and each receiver runs on one thread.
struct Receiver: @unchecked Sendable {
    let session: SessionPointer
    let server: Server
    let memory: any ReceiveMemory

    /// What comes before the payload of a write, and more than any other request needs (libfuse's
    /// FUSE_BUFFER_HEADER_SIZE; the kernel's least is 8 KiB in all).
    static let headerByteCount = 4096

    enum Round {
        case served
        /// The kernel has let go of the session.
        case ended
        /// The device cannot be read any more, which no documented state of it explains.
        case failed(Errno)
    }

    /// Receives and answers one request.
    private func round(_ receivers: Receivers?) -> Round {
        var buffer = fuse_buf()
        buffer.mem = memory.bytes.baseAddress
        let received = fuse_session_receive_buf(session.raw, &buffer)
        if received == 0 { return .ended }
        guard received > 0 else {
            if -received == EINTR || -received == EAGAIN { return .served }
            return -received == ENODEV ? .ended : .failed(Errno(rawValue: -received))
        }
        // Whatever was in it: names, attribute values, what was written.
        defer { if let start = buffer.mem { explicit_bzero(start, Int(received)) } }
        if let receivers {
            guard receivers.begin() else { return .ended }
            defer { receivers.end() }
            fuse_session_process_buf(session.raw, &buffer)
        } else {
            fuse_session_process_buf(session.raw, &buffer)
        }
        return .served
    }

    /// Answers requests until the kernel ends the session or the device fails, but only while `condition` holds.
    ///
    /// - Parameter receivers: told when this one is held by a request and when no more.
    func run(in receivers: Receivers? = nil, while condition: () -> Bool) {
        while condition() {
            switch round(receivers) {
            case .served: continue
            case .ended: return server.kernelHasEnded()
            case .failed(let error):
                return LibraryLog.write(.error, "a receiving thread ended: read of the FUSE device: \(error)")
            }
        }
    }
}

/// libfuse's input and output, done here: a read is never longer than our memory, whatever libfuse's own buffer
/// would be (1 MiB and 4 KiB until INIT), and without splice functions libfuse cannot splice.
func deviceFunctions() -> fuse_custom_io {
    fuse_custom_io(
        writev: { device, vectors, count, _ in Glibc.writev(device, vectors, count) },
        read: { device, bytes, count, data in
            guard let data else { return -1 }
            let server = Unmanaged<Server>.fromOpaque(data).takeUnretainedValue()
            return Glibc.read(device, bytes, min(count, server.options.receiveByteCount))
        },
        splice_receive: nil, splice_send: nil)
}
