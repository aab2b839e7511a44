import Glibc
import SystemPackage
import TestKit
import Testing

/// What the daemon does about memory that reaches the disk.
@Suite struct LockedMemoryTests {
    /// Starts a program with limits of its own; root's right to lock without a limit is taken away.
    private func limited(_ memory: String) -> [String] {
        let limits = ["prlimit", "--memlock=\(memory)", "--core=unlimited"]
        guard geteuid() == 0 else { return limits }
        return limits + ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
    }

    private func limits(of pid: pid_t) throws -> [String: [String]] {
        let file = try FileDescriptor.open("/proc/\(pid)/limits", .readOnly)
        let text = try file.closeAfter {
            var bytes = [UInt8](repeating: 0, count: 1 << 14)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
            return String(decoding: bytes[..<count], as: UTF8.self)
        }
        var found: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            for name in ["Max core file size", "Max locked memory"] where line.hasPrefix(name) {
                found[name] = line.dropFirst(name.count).split(separator: " ").map(String.init)
            }
        }
        return found
    }

    /// Holds:
    /// - Plaintext lies in locked memory that is left out of core dumps and wiped on release; `status` tells
    ///   when the limit on locked memory was too small for it.
    @Test func whatCannotBeLockedIsTold() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("s", recipients: [key], git: false)
            try store.insert("small", "x\n")
            try store.insert("big", [UInt8](repeating: 65, count: 3 << 20))
            try home.addStores([store])
            try home.succeed(limited("2097152:2097152") + ["passdir", "mount", home.mountPoint.string])
            try home.succeed(["cat", "mnt/s/small"])
            let clean = try home.run(["passdir", "status"]).output
            #expect(!clean.contains("locked"), "\(clean)")
            let open = try home.run([
                "sh", "-c", "exec 3<mnt/s/big && passdir status && passdir status --json",
            ])
            .output
            #expect(
                open.contains("warning  ")
                    && open.contains("of plaintext could not be locked in memory (limit 2 MiB)"),
                "\(open)")
            #expect(open.contains("\"warnings\":[\"") && open.contains("swap; raise the limit"), "\(open)")
            // Later it is still told that it was so.
            let later = try home.run(["passdir", "status"]).output
            #expect(later.contains("could not be locked in memory"), "\(later)")
            try home.unmount()
        }
    }

    /// The soft limit is usually a part of what the system permits.
    @Test func theSoftLimitIsRaisedAndCoreDumpsAreForbidden() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("s", recipients: [key], git: false)
            try store.insert("big", [UInt8](repeating: 65, count: 3 << 20))
            try home.addStores([store])
            var own = rlimit()
            // RLIMIT_MEMLOCK
            getrlimit(__rlimit_resource_t(8), &own)
            let hard = Int(clamping: min(own.rlim_max, 16 << 20))
            try #require(hard >= 6 << 20, "the system permits too little here")
            try home.succeed(limited("65536:\(hard)") + ["passdir", "mount", home.mountPoint.string])
            let pid = try #require(home.daemons().first)
            let found = try limits(of: pid)
            #expect(found["Max locked memory"]?.first == "\(hard)", "\(found)")
            #expect(found["Max core file size"]?.prefix(2) == ["0", "0"], "\(found)")
            let open = try home.run(["sh", "-c", "exec 3<mnt/s/big && passdir status"]).output
            #expect(!open.contains("locked"), "\(open)")
            try home.unmount()
        }
    }
}
