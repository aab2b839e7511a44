import Glibc
import SystemPackage
import TestKit
import Testing

/// The system allows the daemon no more threads: a pids limit of a container or a service.
@Suite struct ThreadLimitTests {
    /// A control group whose processes may have so many threads together; nil where none can be made.
    private struct ThreadLimit {
        let folder: FilePath

        init?(_ name: String) {
            let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map { FilePath($0) }
            guard let root = roots.first(where: { FileCalls.exists($0.appending("cgroup.procs")) }) else {
                return nil
            }
            folder = root.appending(name)
            guard mkdir(folder.string, 0o700) == 0 else { return nil }
            guard FileCalls.exists(folder.appending("pids.max")) else {
                rmdir(folder.string)
                return nil
            }
        }

        func write(_ text: String, to name: String) throws {
            let file = try FileDescriptor.open(folder.appending(name), .writeOnly)
            try file.closeAfter { _ = try file.writeAll(text.utf8) }
        }

        /// Lets the threads that a process has now go on, and no others begin.
        func close(around pid: pid_t) throws {
            try write("\(pid)", to: "cgroup.procs")
            try write("0", to: "pids.max")
        }

        func open() throws { try write("max", to: "pids.max") }

        func remove() { rmdir(folder.string) }
    }

    /// Holds:
    /// - Where the system allows no more threads, the daemon lives on, and reads, saves and looks go on with those it has.
    @Test(.slow) func whereNoThreadCanBeHadWorkGoesOn() throws {
        try TestHome.guarded { home in
            guard let limit = ThreadLimit(home.folder.lastComponent?.string ?? "pd") else {
                print("not run: no control group can be made that limits threads")
                return
            }
            defer { limit.remove() }
            let key = try home.makeKey("a@example.org")
            let stores = try ["one", "other"].map { try home.makeStore($0, recipients: [key]) }
            for store in stores { try store.insert("one", "first\n") }
            try home.addStores(stores)
            let daemon = try home.mount()
            // What needs gpg for the first time cannot work without a process: the recipients' keys are read by it.
            let use = "for s in one other; do cat $s/one; echo before > $s/before; done; passdir sync"
            try home.succeed(["sh", "-ec", use], in: home.mountPoint)

            try limit.close(around: daemon)
            // Its commit has to wait.
            try home.succeed(["sh", "-c", "echo saved > waits"], in: home.visible("one"))
            try home.workEveryday(in: "other", during: "threads")
            #expect(home.daemons() == [daemon])
            try limit.open()
            try home.succeed(["passdir", "sync"])
            #expect(try stores[0].show("waits") == Array("saved\n".utf8))
            #expect(try stores[0].git("status", "--porcelain").isEmpty)
            try home.unmount()
        }
    }

    /// Holds:
    /// - EIO | open, close, fsync | gpg or its agent does not work, or the system allows no process for it
    @Test func aSaveForWhichNoProcessCanBeHadIsAnInputOutputError() throws {
        try TestHome.guarded { home in
            guard let limit = ThreadLimit((home.folder.lastComponent?.string ?? "pd") + "-save") else {
                print("not run: no control group can be made that limits threads")
                return
            }
            defer { limit.remove() }
            let store = try home.makeStore("one", recipients: [home.makeKey("a@example.org")])
            try store.insert("one", "first\n")
            try home.addStores([store])
            let daemon = try home.mount()
            // A worker, for what follows; the keys of the recipients are not read yet.
            try home.succeed(["sh", "-c", "df . && ls -l one"], in: home.visible("one"))
            try limit.close(around: daemon)
            do throws(Errno) {
                // Where the keys are known already no process is needed.
                try FileCalls.save(Array("late\n".utf8), to: home.visible("one/late"))
            } catch {
                #expect(error == .ioError)
            }
            try limit.open()
            try FileCalls.save(Array("late\n".utf8), to: home.visible("one/late"))
            try home.unmount()
            #expect(try store.show("late") == Array("late\n".utf8))
        }
    }
}
