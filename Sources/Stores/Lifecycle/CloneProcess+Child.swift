import Glibc
import System
import SystemPackage

extension CloneRequest {
    /// The child process: told everything at its start, heard line by line, ended with this object.
    final class Child {
        private let process: ChildProcess
        private let output: OwnedDescriptor
        private var end: ChildProcess.End?

        /// - Parameter input: at most what fits a pipe (64 KiB); wiped by the caller.
        init(_ words: [String], input: UnsafeRawBufferPointer) throws(Errno) {
            let given = try Pipe()
            let said = try Pipe()
            process = try ChildProcess(
                words,
                environment: ProcessEnvironment.variables(without: [
                    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
                ]),
                descriptors: [given.reading.raw, said.writing.raw, STDERR_FILENO])
            output = said.takeReading()
            var written = 0
            while written < input.count {
                let count = write(given.writing.raw, input.baseAddress! + written, input.count - written)
                if count < 0, errno != EINTR { break }
                written += max(count, 0)
            }
        }

        deinit {
            if end == nil { kill() }
        }

        /// Ends it and what it started.
        func kill() {
            process.kill()
            _ = wait()
        }

        /// As `ChildProcess.End.status`.
        func wait() -> Int32 {
            if let end { return end.status }
            let ended = process.wait()
            end = ended
            return ended.status
        }

        /// Reads what it says next, up to `buffer.count` bytes; 0 at the end, nil when nothing came in time.
        func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int32) -> Int? {
            var entry = pollfd(fd: output.raw, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, milliseconds) > 0 else { return nil }
            let count = Glibc.read(output.raw, buffer.baseAddress, buffer.count)
            return count < 0 && errno == EINTR ? nil : max(count, 0)
        }
    }
}
