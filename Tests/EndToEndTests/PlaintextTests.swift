import Glibc
import SystemPackage
import TestKit
import Testing

/// Plaintext is in memory that is not dumped, and nowhere else.
@Suite struct PlaintextTests {
    /// What every secret of the test holds; made anew each time, so that no file of the test itself has it.
    private static func makeMarker() -> String {
        "mk" + (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }

    /// Holds:
    /// - Plaintext is in the memory of the daemon and of the kernel only: not in a file, an object of git,
    ///   the log, or a core dump.
    @Test func noPlaintextIsLeftAnywhere() throws {
        let rounds = Soak.count(inSuite: 3)
        try TestHome.guarded(limit: .seconds(300 + rounds * 40)) { home in
            let marker = Self.makeMarker()
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try FileCalls.makeDirectory(store.path.appending("bad"))
            try home.write("a@example.org\n", to: "work/bad/.gpg-id")
            for number in 0..<5 { try store.insert("p\(number)", "\(marker) of pass \(number)\n") }
            try home.configure(["log.level": "trace", "commit.delay": "100ms", "save.retry": "500ms"])
            try home.addStores([store])

            let daemon = try home.start([
                // In the home, so that the kernel writes its dump there.
                "bash", "-c", "ulimit -c unlimited; exec passdir mount --foreground \"$0\"",
                home.mountPoint.string,
            ])
            try home.waitUntil("the mount answers") { FileCalls.exists(home.visible("work/p0")) }
            for round in 0..<rounds {
                try useSecrets(home, store, marker, round)
                Soak.say("round \(round + 1)")
            }
            // Read and still open, and edited and not saved yet, while the dumps are made.
            let holder = try home.start(
                [
                    "python3", "-c",
                    """
                    import os, signal
                    read = open("p0", "rb"); read.read()
                    edited = os.open("p1", os.O_RDWR); os.write(edited, os.environ["MARK"].encode())
                    open(os.environ["HOME"] + "/holding", "w").close()
                    signal.pause()
                    """,
                ], in: home.visible("work"), extra: ["MARK": marker])
            try home.waitUntil("the files are open") { FileCalls.exists(home.path("holding")) }
            let gcore = ["gcore", "-o", home.path("live").string, "\(daemon.pid)"]
            if geteuid() == 0 {
                try home.succeed(gcore, limit: .seconds(120))
                try search(home, "live.\(daemon.pid)", for: marker)
                try home.succeed(["rm", "live.\(daemon.pid)"])
            } else {
                // Only root may look into the daemon.
                #expect(try home.run(gcore, limit: .seconds(120)).exitCode != 0)
            }

            kill(daemon.pid, SIGABRT)
            let log = try daemon.wait(limit: .seconds(60))
            #expect(log.exitCode == 128 + SIGABRT)
            #expect(!log.errors.contains(marker) && !log.output.contains(marker), "plaintext in the log")
            #expect(log.errors.contains("committed"), "the log was written")
            holder.signal(SIGKILL)
            _ = try holder.wait()
            try home.freeMount()
            let dumps = try FileCalls.names(in: home.folder).filter { $0.hasPrefix("core") }
            #expect(dumps.isEmpty, "the kernel dumps nothing of the daemon")

            try home.mount()
            try home.waitUntilCommitted(store)
            try home.unmount(discardUnsaved: true)
            try searchFiles(home, store, for: marker)
        }
    }

    /// Programs of many kinds read and write, and saves fail.
    private func useSecrets(_ home: TestHome, _ store: TestStore, _ marker: String, _ round: Int) throws {
        let script = """
            cd "$TOP" || exit 1
            cat p0 p1 >/dev/null; wc -c p* >/dev/null; grep -c "$MARK" p2 >/dev/null; head -c 3 p3 >/dev/null
            md5sum p* >/dev/null; tail -n 1 p4 >/dev/null
            printf '%s\\n' "$MARK $ROUND echo" > "echo$ROUND"
            printf '%s\\n' "$MARK $ROUND appended" >> "echo$ROUND"
            printf '%s\\n' "$MARK $ROUND" | tee "tee$ROUND" >/dev/null
            printf '%s\\n' "$MARK $ROUND" | dd of="dd$ROUND" bs=7 conv=fsync status=none
            sed -i "s/echo/$MARK/" "echo$ROUND"
            cp "echo$ROUND" "copy$ROUND"; mv "copy$ROUND" "moved$ROUND"
            rsync "echo$ROUND" "rsync$ROUND"
            printf '%s\\n' "\\$a" "$MARK by ed" . w q | ed -s "tee$ROUND" >/dev/null
            python3 -c 'import os, mmap
            f = open(os.environ["TOP"] + "/dd" + os.environ["ROUND"], "r+b")
            f.seek(0); f.write(os.environ["MARK"].encode() * 3000); f.flush(); os.fsync(f.fileno())
            m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); m[:]'
            printf '%s\\n' "$KEY" > "$STORE/bad/.gpg-id"
            exec 5>"bad/echo$ROUND" 6>"bad/tee$ROUND" 7>"bad/copy$ROUND"
            echo nobody@example.org > "$STORE/bad/.gpg-id"
            printf '%s\\n' "$MARK fails" >&5
            printf '%s\\n' "$MARK fails by tee" >&6
            cat "echo$ROUND" >&7
            exec 5>&- 6>&- 7>&-
            mv "moved$ROUND" "bad/moved$ROUND"
            cat bad/*$ROUND >/dev/null
            rm "rsync$ROUND"
            exit 0
            """
        try home.succeed(
            ["bash", "-c", script],
            extra: [
                "TOP": home.visible("work").string, "MARK": marker, "ROUND": "\(round)",
                "STORE": store.path.string, "KEY": "a@example.org",
            ],
            limit: .seconds(120))
        #expect(try store.show("echo\(round)") != [])
        let unsaved = try home.status().store("work").unsaved
        #expect(unsaved.contains { $0.path == "bad/echo\(round)" })
    }

    /// A dump must be one, and must not have the marker.
    private func search(_ home: TestHome, _ name: String, for marker: String) throws {
        let file = home.path(name).string
        #expect(
            try home.run(["grep", "-a", "-c", "-F", home.mountPoint.string, file], limit: .seconds(120))
                .exitCode == 0,
            "a dump of the daemon has its mount point")
        let found = try home.run(["grep", "-a", "-c", "-F", marker, file], limit: .seconds(120))
        #expect(found.exitCode == 1, "plaintext in \(name): \(found.output)")
    }

    private func searchFiles(_ home: TestHome, _ store: TestStore, for marker: String) throws {
        for folder in ["work", "work.git", "state", "cache", "config", "data", "run", "gnupg", ".gitconfig"] {
            let found = try home.run(["grep", "-a", "-r", "-l", "-F", marker, home.path(folder).string])
            #expect(found.exitCode == 1, "plaintext in \(folder): \(found.output)\(found.errors)")
        }
        // Objects are compressed: as git unpacks them.
        let objects = "git cat-file --batch-all-objects --batch --buffer"
        for repository in [store.path, home.path("work.git")] {
            let found = try home.run(
                ["bash", "-c", "\(objects) | grep -a -c -F '\(marker)'"], in: repository, limit: .seconds(60))
            #expect(found.exitCode == 1, "plaintext in an object of \(repository): \(found.output)")
            let known = try home.run(
                ["bash", "-c", "\(objects) | grep -a -c -F 'given password for'"], in: repository)
            #expect(known.exitCode == 0, "the objects are those of commits")
        }
    }
}
