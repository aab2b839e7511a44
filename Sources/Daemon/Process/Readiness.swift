import Glibc
import SystemPackage

/// The daemon's side of the readiness pipe: tells the command that started it how the start went, once.
///
/// The pipe carries one line: `ready`, or the sentence of an error. A pipe that closes without a line means
/// that the daemon died.
public struct Readiness: Sendable {
    /// The option that names the inherited descriptor to a started daemon.
    public static let option = "--ready-fd"
    static let ready = "ready"

    private let descriptor: Int32

    /// Takes over the inherited descriptor, so that no program started later holds the pipe open, and lets go
    /// of what else was inherited: a daemon that keeps its caller's folder or pipes keeps others waiting.
    /// Call it before anything else is opened.
    ///
    /// - Throws: EBADF when the descriptor is not open.
    public init(descriptor: Int32) throws(Errno) {
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        self.descriptor = descriptor
        closefrom(max(descriptor, STDERR_FILENO) + 1)
        guard chdir("/") == 0 else { throw Errno(rawValue: errno) }
    }

    /// Tells that the mount answers. Call it or `failed` once; the descriptor is closed afterwards.
    public func succeeded() {
        finish(Self.ready)
    }

    /// Tells why the daemon ends, as one sentence.
    public func failed(_ sentence: String) {
        finish(sentence == Self.ready ? "not ready" : sentence)
    }

    private func finish(_ line: String) {
        let text = line.split(whereSeparator: \.isNewline).joined(separator: " ") + "\n"
        // Who waited may be gone (Ctrl-C); that is for the daemon no reason to end, and SIGPIPE is caught.
        text.utf8.withContiguousStorageIfAvailable { _ = write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }
}
