import CFuse
import Glibc
import System
import SystemPackage

/// The setuid program that mounts and unmounts for ordinary users; root uses it as well, so that there is one way.
/// libfuse could start it too, but would let its error messages go to our standard error unread.
enum Fusermount {
    struct Outcome {
        /// As `ChildProcess.End.status`.
        var status: Int32 = 0
        /// What it wrote, without its name before each line.
        var message = ""
        /// The FUSE device, when it mounted.
        var device: FileDescriptor?
    }

    /// Mounts, and returns the device over which the kernel will speak.
    static func mount(at path: FilePath, options: [String]) throws(MountError) -> FileDescriptor {
        let list = options.joined(separator: ",")
        let outcome = try run(["-o", list, "--", path.string], path: path, mounts: true)
        guard let device = outcome.device else { throw refusal(of: outcome, path) }
        return device
    }

    /// Unmounts what is mounted at `path`; lazily means that what is open stays usable.
    static func unmount(_ path: FilePath, lazily: Bool) throws(MountError) {
        let outcome = try run([lazily ? "-uz" : "-u", "--", path.string], path: path, mounts: false)
        guard outcome.status != 0 else { return }
        throw refusal(of: outcome, path)
    }

    /// An option's value with the two characters escaped that mean something in a list of options.
    static func escape(_ value: String) -> String {
        value.reduce(into: "") { result, character in
            if character == "," || character == "\\" { result.append("\\") }
            result.append(character)
        }
    }

    private static func run(
        _ arguments: [String], path: FilePath, mounts: Bool
    ) throws(MountError) -> Outcome {
        let messages = try pair()
        defer { messages.close() }
        let device = try mounts ? pair() : nil
        defer { device?.close() }

        var outcome = Outcome()
        let child = try start(
            arguments, errors: messages.theirs.rawValue, communication: device?.theirs.rawValue)
        messages.closeTheirs()
        if let device {
            device.closeTheirs()
            let received = passdir_fuse_receive_descriptor(device.ours.rawValue)
            if received >= 0 { outcome.device = FileDescriptor(rawValue: received) }
        }
        outcome.message = text(from: messages.ours)
        outcome.status = child.wait().status
        return outcome
    }

    /// No shell, and no environment but what the program needs.
    private static func start(
        _ arguments: [String], errors: CInt, communication: CInt?
    ) throws(MountError) -> ChildProcess {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        var environment = ["LC_ALL": "C", "PATH": path]
        var descriptors: [CInt?] = [nil, errors, errors]
        if let communication {
            // The socket over which it sends the device.
            environment["_FUSE_COMMFD"] = "\(descriptors.count)"
            descriptors.append(communication)
        }
        // PATH first: some systems keep their setuid programs elsewhere. A service may have no useful PATH.
        for program in ["fusermount3", "/usr/bin/fusermount3", "/bin/fusermount3"] {
            do throws(Errno) {
                return try ChildProcess(
                    ["fusermount3"] + arguments, program: program, environment: environment,
                    descriptors: descriptors, group: .ours)
            } catch .noSuchFileOrDirectory, .permissionDenied {
                continue
            } catch {
                throw MountError(.outOfResources, "fusermount3 could not be started: \(error).")
            }
        }
        throw MountError(
            .fusermountMissing,
            "The program fusermount3 was not found. Install the package fuse3 of your distribution.")
    }

    private static func text(from socket: FileDescriptor) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1024)
        while let count = try? chunk.withUnsafeMutableBytes({ try socket.read(into: $0) }), count > 0 {
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            guard line.hasPrefix("fusermount"), let colon = line.firstIndex(of: ":") else { return line }
            return line[line.index(after: colon)...].drop { $0 == " " }
        }.joined(separator: "; ")
    }

    /// What the program's message means. It prints strerror(3) in the C locale.
    private static func refusal(of outcome: Outcome, _ path: FilePath) -> MountError {
        let message = outcome.message
        let said = message.isEmpty ? "fusermount3 failed without a message" : "fusermount3: \(message)"
        func says(_ parts: String...) -> Bool { parts.contains { message.contains($0) } }
        if says("fuse device not found", "failed to open /dev/fuse", "/dev/fuse:") {
            return MountError(
                .deviceUnavailable,
                "The FUSE device /dev/fuse cannot be used (\(said)). Load the kernel module fuse, or ask for access."
            )
        }
        if says("Device or resource busy") {
            return MountError(
                .busy,
                "\(path) is in use: a program has a file in it open or works in it. Close it and try again.")
        }
        if says("not found in", "not mounted", "Invalid argument") {
            return MountError(.notMounted, "Nothing is mounted at \(path) (\(said)).")
        }
        if says("no write access", "not owned", "ermission denied", "not permitted", "forbidden") {
            return MountError(.notPermitted, "The system does not permit this at \(path) (\(said)).")
        }
        if says("No such file or directory") {
            return MountError(.mountPointMissing, "There is no directory \(path) (\(said)).")
        }
        if says("too many FUSE filesystems", "Cannot allocate") {
            return MountError(.outOfResources, "The system allows no further mount (\(said)).")
        }
        return MountError(.other, "\(path): \(said).")
    }

    /// A connected pair of sockets, ours and the child's; the program sends a descriptor over one.
    private final class Pair {
        let ours: FileDescriptor
        let theirs: FileDescriptor
        private var theirsIsOpen = true

        init(ours: FileDescriptor, theirs: FileDescriptor) {
            self.ours = ours
            self.theirs = theirs
        }

        func closeTheirs() {
            guard theirsIsOpen else { return }
            theirsIsOpen = false
            try? theirs.close()
        }

        func close() {
            closeTheirs()
            try? ours.close()
        }
    }

    private static func pair() throws(MountError) -> Pair {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw MountError(.outOfResources, "No socket for fusermount3: \(Errno(rawValue: Glibc.errno)).")
        }
        return Pair(ours: FileDescriptor(rawValue: ends[0]), theirs: FileDescriptor(rawValue: ends[1]))
    }
}
