import Glibc
import SystemPackage

extension TestHome {
    /// Where the tests mount: `mnt` in the home.
    public var mountPoint: FilePath { path("mnt") }

    /// Writes stores into passdir's configuration, with `passdir store add`.
    public func addStores(_ stores: [TestStore]) throws {
        for store in stores {
            let name = store.path.lastComponent?.string ?? ""
            try succeed(["passdir", "store", "add", name, "--path", store.path.string])
        }
    }

    /// Mounts with `passdir mount`; returns the daemon's process id.
    @discardableResult
    public func mount(extra: [String: String] = [:]) throws -> pid_t {
        try succeed(["passdir", "mount", mountPoint.string], extra: extra)
        let running = daemons()
        guard running.count == 1, let pid = running.first else {
            throw TestFailure("\(running.count) daemons run after 'passdir mount'")
        }
        return pid
    }

    /// Unmounts with `passdir unmount`.
    public func unmount(discardUnsaved: Bool = false) throws {
        try succeed(
            ["passdir", "unmount"] + (discardUnsaved ? ["--discard-unsaved"] : []), limit: .seconds(150))
        try waitUntil("the daemon has ended") { daemons().isEmpty }
    }

    /// Kills the daemon as a crash would, and waits until it is gone. The mount stays, stale.
    public func killDaemon() throws {
        for pid in daemons() { kill(pid, SIGKILL) }
        try waitUntil("the killed daemon is gone") { daemons().isEmpty }
    }

    /// Frees a stale mount.
    public func freeMount() throws {
        for point in mountPoints() { try succeed(["fusermount3", "-uz", point], in: "/") }
    }

    /// Waits until a program waits for a mount's answer; proc_pid_wchan(5). Where the kernel does not say what a program
    /// waits for, that it waits has to do.
    public func waitUntilBlocked(_ program: Program) throws {
        try waitUntil("process \(program.pid) waits for the mount") {
            let place = SystemFile.text("/proc/\(program.pid)/wchan") ?? ""
            let status = SystemFile.text("/proc/\(program.pid)/stat") ?? ""
            let state = status.split(separator: ")").last?.first { $0 != " " }
            return place.contains("fuse") || place.contains("request_wait")
                || (place == "0" && (state == "S" || state == "D"))
        }
    }

    /// Waits for something that gives no event, looking every 20 ms. A look that takes long takes a third of the time at most:
    /// passdir waits where a git program runs, and may never see a quiet moment between looks by git.
    public func waitUntil(
        _ what: String, limit: Duration = .seconds(20), _ condition: () throws -> Bool
    ) throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let start = ContinuousClock.now
            if try condition() { return }
            let end = ContinuousClock.now
            guard end < deadline else { throw TestFailure("waited in vain: \(what)") }
            usleep(
                UInt32(min(max((end - start) * 2, .milliseconds(20)), .milliseconds(500)) / .microseconds(1)))
        }
    }
}
