import Glibc
import SystemPackage
import TestKit
import Testing

/// A daemon that is killed, as a crash or the kernel would, while a server keeps one of its transfers waiting.
@Suite struct StalledTransferTests {
    /// The transfer's process ends with its daemon, and so does what it has started: nobody waits for it any more, and what it
    /// locked would stay locked. A test fails where a process of its home is left, too.
    @Test(.slow, arguments: ["libgit2", "git"]) func aTransferEndsWithItsDaemon(_ transport: String) throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.waitForEnd()
                return false
            }
            defer { server.stop() }
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.git("remote", "add", "origin", server.url + "/x.git")
            try home.addStores([store])
            for (name, value) in [("sync.transport", transport), ("push.timeout", "600s")] {
                try home.succeed(
                    ["git", "config", "--file", home.path("config/passdir/config").string, name, value])
            }
            let daemon = try home.mount()
            try home.waitUntil("the server is asked") { !server.requests.isEmpty }
            let transfers = children(of: daemon)
            #expect(!transfers.isEmpty, "nothing transfers")
            try home.killDaemon()
            try home.waitUntil("what the daemon has started has ended") {
                transfers.allSatisfy { SystemFile.text("/proc/\($0)/cmdline")?.isEmpty != false }
            }
            try home.freeMount()
            let locks = try home.succeed(["find", store.path.appending(".git").string, "-name", "*.lock"])
            #expect(locks.isEmpty, "\(String(decoding: locks, as: UTF8.self))")
        }
    }

    /// Also where the remote is a folder: only a push is brought to its end there.
    @Test func aFetchFromAFolderEndsWithItsDaemon() throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.addStores([store])
            // Whoever opens it to read waits for somebody who writes.
            try home.succeed(["sh", "-c", "rm -f work.git/packed-refs; mkfifo work.git/packed-refs"])
            let daemon = try home.mount()
            let syncing = try home.start(["passdir", "sync"])
            // The daemon has other programs, too: what counts is there once the remote's side waits.
            var transfers: [pid_t] = []
            try home.waitUntil("the remote is read") {
                transfers = children(of: daemon)
                return transfers.contains {
                    SystemFile.text("/proc/\($0)/cmdline")?.hasPrefix("git-upload-pack") == true
                }
            }
            try home.killDaemon()
            try home.waitUntil("what the daemon has started has ended", limit: .seconds(10)) {
                transfers.allSatisfy { SystemFile.text("/proc/\($0)/cmdline")?.isEmpty != false }
            }
            _ = try syncing.wait()
            try home.freeMount()
        }
    }

    /// The same of the command that clones.
    @Test func aCloneEndsWithItsCommand() throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.waitForEnd()
                return false
            }
            defer { server.stop() }
            let program = try home.start(["passdir", "store", "add", "x", "--url", server.url + "/x.git"])
            try home.waitUntil("the server is asked") { !server.requests.isEmpty }
            let transfers = children(of: program.pid)
            #expect(transfers.count == 1)
            program.signal(SIGKILL)
            _ = try program.wait()
            try home.waitUntil("the clone has ended") {
                transfers.allSatisfy { SystemFile.text("/proc/\($0)/cmdline")?.isEmpty != false }
            }
        }
    }

    /// Holds:
    /// - Whoever waits as another process adds, replaces or removes a store is told which store, and by which process.
    @Test(.slow) func whoWaitsForACloneIsToldOfIt() throws {
        try TestHome.with { home in
            let server = try HostileServer { _, client in
                client.waitForEnd()
                return false
            }
            defer { server.stop() }
            let key = try home.makeKey("one@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key])])
            let slow = try home.start(["passdir", "store", "add", "slow", "--url", server.url + "/x.git"])
            try home.waitUntil("the server is asked") { !server.requests.isEmpty }
            let others = try [
                ["remove", "work", "--yes"], ["add", "fast", "--url", home.path("work").string],
            ].map { try home.start(["passdir", "store"] + $0) }
            let work = "process \(slow.pid) is adding the store \"slow\""
            for other in others {
                let told = try other.wait(limit: .seconds(40))
                #expect(told.exitCode != 0 && !told.timedOut)
                #expect(
                    told.errors
                        == "passdir: waiting, as \(work)\npassdir: \(work): try again once it is done\n")
            }
            slow.signal(SIGKILL)
            _ = try slow.wait()
        }
    }

    /// The processes that a process has started, and those that these have.
    private func children(of parent: pid_t) -> [pid_t] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let pid = pid_t(name), let text = SystemFile.text("/proc/\(pid)/stat"),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            if fields.count > 1, pid_t(fields[1]) == parent { found.append(pid) }
        }
        return found + found.flatMap(children)
    }
}
