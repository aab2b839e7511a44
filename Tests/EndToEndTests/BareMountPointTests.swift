import Glibc
import SystemPackage
import TestKit
import Testing

/// What programs meet in the folder below the mount when the mount is not there: no place to leave plaintext in.
@Suite struct BareMountPointTests {
    private func mounted(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("mail/imap", "old\n")
            try home.addStores([store])
            try home.mount()
            try body(home, store)
        }
    }

    private func expectNothingIsWritten(_ home: TestHome) throws {
        let folder = home.mountPoint.string
        let facts = try home.succeed(["stat", "-c", "%a", folder])
        #expect(facts == Array("500\n".utf8))
        let written = try home.run([
            "sh", "-c", "mkdir -p '\(folder)/work/mail' && echo plain > '\(folder)/work/mail/new'",
        ])
        // No mode stops root; that it is immutable does, where this process may say so.
        if geteuid() != 0 || SystemFile.canMakeImmutable {
            #expect(written.exitCode != 0, "\(written)")
            #expect(try home.succeed(["ls", "-A", folder]).isEmpty)
        }
    }

    /// Holds:
    /// - While nothing is mounted nobody writes into the mount point: its mode is 0500 and, for root, it is immutable.
    @Test(.slow) func afterAnUnmountNothingIsWritten() throws {
        try mounted { home, _ in
            try home.unmount()
            try expectNothingIsWritten(home)
            try home.mount()
            #expect(try home.bytes(at: home.visible("work/mail/imap")) == Array("old\n".utf8))
            try home.killDaemon()
            try home.freeMount()
            try expectNothingIsWritten(home)
        }
    }

    /// Holds:
    /// - `passdir erase`, and the removal of the last store, give the mount point back as it was before the first mount.
    @Test(.slow, arguments: [["erase"], ["store", "remove", "work"]])
    func aMountPointIsGivenBack(_ words: [String]) throws {
        try mounted { home, _ in
            try home.unmount()
            try expectNothingIsWritten(home)
            let other = home.path("other").string
            try home.succeed(["mkdir", "-m", "755", other])
            for _ in 1...2 {
                try home.succeed(["passdir", "mount", other])
                try home.unmount()
                #expect(try home.succeed(["stat", "-c", "%a", other]) == Array("500\n".utf8))
            }
            try home.succeed(["passdir"] + words + ["--yes"])
            #expect(try home.succeed(["stat", "-c", "%a", other]) == Array("755\n".utf8))
            try home.succeed(["touch", home.mountPoint.string + "/file", other + "/file"])
        }
    }

    /// A shell works in the mount when the daemon is told to end, as at a logout.
    ///
    /// Holds:
    /// - A daemon that is told to end while programs work in the mount takes the mount out of sight and serves them to their
    ///   end; `passdir status`, `mount` and `unmount` say so.
    @Test(.slow) func aBusyDaemonTellsTheTruth() throws {
        try mounted { home, store in
            try home.succeed(["mkfifo", "go"])
            let shell = try home.start(
                ["sh", "-c", "cd mnt/work/mail && read line <\"$HOME/go\" && echo inside > new"])
            let inside = home.mountPoint.pushing("work/mail").string
            try home.waitUntil("it works in the mount") {
                (try? home.run(["readlink", "/proc/\(shell.pid)/cwd"]).output) == inside + "\n"
            }
            let daemon = try #require(home.daemons().first)
            kill(daemon, SIGTERM)
            try home.waitUntil("the mount is out of sight") { home.mountPoints().isEmpty }
            try expectNothingIsWritten(home)
            let status = try home.passdir("status")
            #expect(status.output.contains("was unmounted; process \(daemon) exits once"), "\(status)")
            #expect(try home.succeed(["passdir", "status", "--json"]).contains("\"isUnmounted\":true"))
            let mount = try home.passdir("mount", home.mountPoint.string)
            #expect(mount.exitCode == 1 && mount.errors.contains("still work in it"), "\(mount)")
            #expect(mount.errors.contains("passdir insert --multiline --force takes"), "\(mount)")
            try home.succeed(
                ["passdir", "insert", "--multiline", "--force", "work/mail/a"], input: Array("rescued\n".utf8)
            )
            #expect(try store.show("mail/a") == Array("rescued\n".utf8))
            let unmount = try home.passdir("unmount")
            #expect(unmount.exitCode == 1 && unmount.errors.contains("is already unmounted"), "\(unmount)")
            #expect(unmount.errors.contains("\n  \(shell.pid) sh: works in work/mail\n"), "\(unmount)")

            // It goes on, and what it saves is encrypted.
            try home.succeed(["sh", "-c", "echo > go"])
            #expect(try shell.wait(limit: .seconds(30)).exitCode == 0)
            try home.waitUntil("the daemon ends with it") { home.daemons().isEmpty }
            #expect(try store.show("mail/new") == Array("inside\n".utf8))
            try home.mount()
            try home.unmount()
        }
    }

    /// Nobody works in the mount any more, and the daemon still pushes what waits.
    @Test(.slow) func aDaemonThatPushesTellsTheTruth() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.addStores([store])
            // Others end in good time; this one waits for the remote, which waits for a word.
            try home.configure(["unmount.timeout": "300s"])
            try home.succeed(["mkfifo", "go"])
            try home.mount()
            let hook = try #require(store.remote).pushing("hooks/pre-receive").string
            let begun = home.path("begun").string
            try home.succeed([
                "sh", "-c",
                #"mkdir -p "${1%/*}" && printf '#!/bin/sh\n: >%s; read line <%s\n' "$2" "$3" >"$1" && chmod +x "$1""#,
                "sh", hook, begun, home.path("go").string,
            ])
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/new"))
            let first = try home.start(["passdir", "unmount"])
            try home.waitUntil("the push has begun") { access(begun, F_OK) == 0 }
            #expect(home.mountPoints().isEmpty)
            let second = try home.start(["passdir", "unmount"])
            #expect(try home.succeed(["passdir", "status", "--json"]).contains("\"isFinishing\":true"))
            let status = try home.passdir("status").output
            #expect(status.contains("exits once it has committed and pushed"), "\(status)")
            let mount = try home.passdir("mount", home.mountPoint.string)
            #expect(
                mount.exitCode == 1 && mount.errors.contains("is still committing and pushing"), "\(mount)")
            try home.succeed(["sh", "-c", "echo >go"])
            for program in [first, second] {
                let ended = try program.wait(limit: .seconds(60))
                #expect(ended.exitCode == 0, "\(ended)")
            }
            #expect(try store.remoteGit("log", "-1", "--format=%s").contains("new"))
            #expect(home.daemons().isEmpty)
        }
    }

    /// What was put there by root before, say, is in the way of a mount, and named.
    @Test func whatIsInTheWayIsNamed() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            try home.addStores([try home.makeStore("work", recipients: [key])])
            try home.succeed(["sh", "-c", "mkdir mnt && cd mnt && touch a b c d"])
            let refused = try home.passdir("mount", home.mountPoint.string)
            #expect(
                refused.exitCode == 1 && refused.errors.contains("hide what is in it: a, b, c and 1 more. "),
                "\(refused)")
            // It is as it was.
            try home.succeed(["sh", "-c", "touch mnt/e"])
        }
    }
}

extension SystemFile {
    /// Whether this process has CAP_LINUX_IMMUTABLE (number 9).
    fileprivate static var canMakeImmutable: Bool {
        let lines = (text("/proc/self/status") ?? "").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("CapEff:") }),
            let bits = UInt64(line.split(separator: "\t").last ?? "", radix: 16)
        else { return false }
        return bits & 1 << 9 != 0
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool { String(decoding: self, as: UTF8.self).contains(text) }
}
