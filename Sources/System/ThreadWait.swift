import Glibc
import SystemPackage

/// What a thread of this process waits for in the kernel: proc_pid_wchan(5) names the function that it sleeps in.
struct ThreadWait: Sendable, Equatable {
    /// Who ends a wait.
    enum Cause: Sendable {
        /// It runs, or the kernel does not tell.
        case none
        /// Another thread of ours, or a program that we started.
        case ours
        /// A file system that a process serves, or another machine: FUSE, NFS, SMB, Ceph, 9p.
        case server
        /// Anything else, usually a disk.
        case device
    }

    let cause: Cause
    /// How often the thread has waited so far: the same count twice is one wait.
    let count: UInt64

    /// Looks at a thread.
    init(ofThread thread: pid_t) {
        let place = Self.text(thread, "wchan")
        // Read after the place: whoever went on meanwhile has another count than before.
        let status = Self.text(thread, "status").split(separator: "\n")
        let line = status.first { $0.hasPrefix("voluntary_ctxt_switches:") }
        count = line.flatMap { UInt64($0.drop { !$0.isNumber }) } ?? 0
        cause = Self.cause(of: place)
    }

    /// Who ends a wait in a function of the kernel.
    static func cause(of place: String) -> Cause {
        if place.isEmpty || place == "0" { return .none }
        if ["futex", "do_wait", "pipe", "poll", "unix_"].contains(where: place.contains) { return .ours }
        // FUSE waits in request_wait_answer(), NFS in rpc_wait_bit_killable(), SMB in wait_for_response().
        let servers = [
            "fuse", "request_wait", "rpc_", "nfs", "smb", "cifs", "wait_for_response", "ceph", "p9_",
        ]
        return servers.contains(where: place.contains) ? .server : .device
    }

    private static func text(_ thread: pid_t, _ name: String) -> String {
        let bytes = try? OwnedDescriptor(opening: FilePath("/proc/self/task/\(thread)/\(name)"), O_RDONLY)
            .readAll(atMost: 8192)
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}
