import Glibc
import SystemPackage

extension Fusermount {
    /// The program as a child process: no shell, no environment but what it needs, no signal blocked.
    struct Child {
        private let process: pid_t

        /// Where the child finds the socket over which it sends the device.
        private static let communicationDescriptor: Int32 = 3

        init(_ arguments: [String], errors: Int32, communication: Int32?) throws(MountError) {
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
            // Moved out of the way first: one of ours may have the number that another gets.
            let safeErrors = try Self.duplicate(errors)
            defer { close(safeErrors) }
            posix_spawn_file_actions_adddup2(&actions, safeErrors, 1)
            posix_spawn_file_actions_adddup2(&actions, safeErrors, 2)
            var environment = ["LC_ALL=C"]
            let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
            environment.append("PATH=\(path)")
            let safeCommunication = try communication.map(Self.duplicate)
            defer { if let safeCommunication { close(safeCommunication) } }
            if let safeCommunication {
                posix_spawn_file_actions_adddup2(&actions, safeCommunication, Self.communicationDescriptor)
                environment.append("_FUSE_COMMFD=\(Self.communicationDescriptor)")
            }

            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            var none = sigset_t()
            sigemptyset(&none)
            var all = sigset_t()
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setsigdefault(&attributes, &all)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

            // PATH first: some systems keep their setuid programs elsewhere. A service may have no useful PATH.
            var failure = ENOENT
            var started: pid_t = 0
            for program in ["fusermount3", "/usr/bin/fusermount3", "/bin/fusermount3"] {
                failure = Self.withStrings(["fusermount3"] + arguments) { arguments in
                    Self.withStrings(environment) { environment in
                        posix_spawnp(&started, program, &actions, &attributes, arguments, environment)
                    }
                }
                if failure != ENOENT && failure != EACCES { break }
            }
            process = started
            guard failure != 0 else { return }
            if failure == ENOENT || failure == EACCES {
                throw MountError(
                    .fusermountMissing,
                    "The program fusermount3 was not found. Install the package fuse3 of your distribution.")
            }
            throw MountError(
                .outOfResources, "fusermount3 could not be started: \(Errno(rawValue: failure)).")
        }

        /// Waits for its end. Nil when a signal ended it, or when this process doesn't keep children's statuses.
        func wait() -> Int32? {
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0 {
                if Glibc.errno != EINTR { return nil }
            }
            return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
        }

        private static func duplicate(_ descriptor: Int32) throws(MountError) -> Int32 {
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 10)
            guard copy >= 0 else {
                throw MountError(
                    .outOfResources, "No descriptor for fusermount3: \(Errno(rawValue: Glibc.errno)).")
            }
            return copy
        }

        private static func withStrings<Result>(
            _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
        ) -> Result {
            let copies = strings.map { strdup($0) }
            defer { for copy in copies { free(copy) } }
            return body(copies + [nil])
        }
    }
}
