import Glibc
public import SystemPackage

/// Puts a program in the place of this process, as if that had been started instead of us: process id, parent, group, session
/// and terminal stay, and so do the descriptors and the ignored signals that this process was given.
public struct ProcessReplacement: Sendable {
    private let descriptors: Set<CInt>
    private let ignoredSignals: [CInt]

    /// Notes what this process was given; to be made before anything is opened, and before a signal is caught.
    public init() {
        descriptors = Set(Self.openDescriptors())
        ignoredSignals = IgnoredSignals.all
    }

    /// Runs the program that our own last arguments name, byte for byte as they were given. It is looked up in the PATH that it
    /// gets, as by env(1). On success nothing of this process is left, and its memory is gone.
    ///
    /// The values are in no file and no argument, but they are in the program's environment: its `/proc/PID/environ`.
    /// - Parameters:
    ///   - count: how many of our arguments are its name and its arguments.
    ///   - variables: what is set in its environment, or replaced; the rest is ours. Of two with one name, the last counts. No
    ///     name has an equals sign or a NUL, and no value has a NUL.
    /// - Throws: ENOENT when there is no such program, EACCES when it may not be run, E2BIG when all of it is too long;
    ///   the variables are then gone from our own environment.
    public func run(
        lastArguments count: Int, variables: [(name: String, value: SecretBytes)]
    ) throws(Errno) -> Never {
        // Those of ours have O_CLOEXEC, but what libraries open need not.
        for descriptor in Self.openDescriptors() where !descriptors.contains(descriptor) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        for number in ignoredSignals { signal(number, SIG_IGN) }
        let words = CommandLine.unsafeArgv + Int(CommandLine.argc) - count
        var entries = SecretBuffer()
        var starts: [Int] = []
        for (name, value) in variables {
            starts.append(entries.count)
            try entries.append("\(name)=")
            try value.withUnsafeBytes { (bytes) throws(Errno) in
                try entries.write(bytes, at: entries.count)
            }
            try entries.append("\0")
        }
        try entries.withUnsafeMutableBytes { (bytes) throws(Errno) -> Never in
            // putenv(3) makes no copy: the entries stay in secret memory.
            for start in starts { putenv((bytes.baseAddress! + start).assumingMemoryBound(to: CChar.self)) }
            _ = execvp(words[0]!, words)
            let error = Errno.last
            // They go with this call.
            for (name, _) in variables { unsetenv(name) }
            throw error
        }
    }

    /// Runs this program once more in the place of this process, with our own arguments and the environment as it is now. Comes
    /// back only where that cannot be done.
    static func startAnew() { execv(OwnProgram.path, CommandLine.unsafeArgv) }

    private static func openDescriptors() -> [CInt] {
        DirectoryStream.names(in: "/proc/self/fd").compactMap { CInt($0) }
    }
}

extension SecretBuffer {
    /// Of text that is no secret.
    fileprivate mutating func append(_ text: String) throws(Errno) {
        for byte in text.utf8 {
            try Swift.withUnsafeBytes(of: byte) { (bytes) throws(Errno) in try write(bytes, at: count) }
        }
    }
}
