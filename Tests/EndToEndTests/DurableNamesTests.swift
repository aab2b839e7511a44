import Glibc
import SystemPackage
import TestKit
import Testing

/// What makes, empties or replaces a file without writing to it is as durable as a save.
@Suite struct DurableNamesTests {
    private func withStore(
        _ settings: [String: String] = [:], _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            try store.insert("s", "one\n")
            try home.configure(settings)
            try home.addStores([store])
            try home.mount()
            try body(home, store)
        }
    }

    private func visibleNames(_ folder: FilePath) throws -> [String] {
        try FileCalls.names(in: folder).filter { $0.first != "." }
    }

    private func crash(_ home: TestHome) throws {
        try home.killDaemon()
        try home.freeMount()
    }

    /// Holds:
    /// - A file that open(2) makes for reading only, as flock(1) does, is on disk when open returns.
    @Test func aFileMadeForReadingIsOnDisk() throws {
        try withStore { home, store in
            let made = open(home.visible("work/lock").string, O_CREAT | O_RDONLY | O_CLOEXEC, 0o600)
            #expect(made >= 0)
            defer { close(made) }
            #expect(try store.show("lock").isEmpty)
            try crash(home)
            #expect(try store.show("lock").isEmpty)
        }
    }

    /// Holds:
    /// - A file that cannot be saved when it is made is not there: mknod(2), and open(2) for reading only, fail with
    ///   the save's error.
    @Test func whatCannotBeMadeIsNotThere() throws {
        try withStore { home, store in
            try FileCalls.unlink(home.path("work/.gpg-id"))
            #expect(open(home.visible("work/a").string, O_CREAT | O_RDONLY | O_CLOEXEC, 0o600) == -1)
            #expect(errno == ENOKEY)
            #expect(mknod(home.visible("work/b").string, S_IFREG | 0o600, 0) == -1)
            #expect(errno == ENOKEY)
            #expect(try visibleNames(home.visible("work")) == ["s"])
            #expect(try home.status().store("work").unsaved.isEmpty)
            try home.unmount()
        }
    }

    /// Holds:
    /// - Emptying a file, or making an empty one, is saved by the close(2) of the process's last descriptor of it,
    ///   which reports a failure.
    @Test(.slow) func anEmptyFileIsSavedByItsClose() throws {
        try withStore { home, store in
            try FileCalls.save([], to: home.visible("work/empty"))
            try home.succeed(["touch", home.visible("work/touched").string])
            try home.succeed(["bash", "-c", ": > \"$1\"", "bash", home.visible("work/s").string])
            try crash(home)
            for name in ["empty", "touched", "s"] { #expect(try store.show(name).isEmpty, "\(name)") }

            try home.mount()
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            try home.write("missing@example.org\n", to: "work/.gpg-id")
            #expect(throws: Errno(rawValue: ENOKEY)) { try FileCalls.save([], to: home.visible("work/new")) }
            #expect(throws: Errno(rawValue: ENOKEY)) { try FileCalls.save([], to: home.visible("work/s")) }
            #expect(try home.run(["touch", home.visible("work/other").string]).exitCode != 0)
            #expect(try store.show("s") == Array("two\n".utf8))
            try home.unmount(discardUnsaved: true)
        }
    }

    /// exec(2) closes what is marked so, and what is asked of /proc about the process must not wait for that exec.
    @Test(
        .slow,
        arguments: [
            ["perl", "-e", #"open F, ">", $ARGV[0]; system "true"; print F "text"; close F"#],
            ["bash", "-c", #"{ { /bin/true; } >/dev/null; printf text; } >"$0""#],
            [
                "/usr/bin/python3", "-c",
                """
                import os, sys
                file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                child = os.fork()
                if child == 0: os.execv("/bin/true", ["true"])
                os.waitpid(child, 0)
                os.write(file, b"text")
                os.close(file)
                """,
            ],
        ])
    func aProgramStartsAnotherBesideAnEmptyFile(_ program: [String]) throws {
        try withStore { home, store in
            let result = try home.run(program + [home.visible("work/new").string], limit: .seconds(60))
            #expect(result.exitCode == 0 && !result.timedOut, "\(result.errors)")
            #expect(try store.show("new") == Array("text".utf8))
            try home.unmount()
        }
    }

    /// A shell closes its own copy of the descriptor first, and programs that write nothing may end in between: the
    /// old content is not replaced by nothing before the new one comes.
    @Test(.slow) func aRedirectionSavesOnce() throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            let before = try store.git("rev-list", "--count", "HEAD")
            for shell in ["bash", "dash"] {
                try home.succeed([
                    shell, "-c", "{ sleep 0.1; sleep 0.3; echo \"$2\"; } > \"$1\"", shell,
                    home.visible("work/s").string, shell,
                ])
                #expect(try store.show("s") == Array("\(shell)\n".utf8))
                try home.waitUntilCommitted(store)
            }
            let log = try store.git("log", "-p", "--format=%s", "--stat")
            #expect(try store.git("rev-list", "--count", "HEAD") == "\(Int(before)! + 2)", "\(log)")
            try home.unmount()
        }
    }

    /// Holds:
    /// - A symbolic link that was made or removed right before a crash is committed by the next mount.
    @Test(.slow) func linksOutliveACrash() throws {
        try withStore(["commit.delay": "10m"]) { home, store in
            try FileCalls.makeDirectory(home.visible("work/dir"))
            try FileCalls.save(Array("x\n".utf8), to: home.visible("work/dir/x"))
            try home.succeed(["ln", "-s", "dir", "gone"], in: home.visible("work"))
            try home.unmount()
            #expect(try store.git("ls-files", "gone") == "gone")
            try home.mount()
            try home.succeed(["ln", "-s", "dir", "made"], in: home.visible("work"))
            try FileCalls.unlink(home.visible("work/gone"))
            try crash(home)
            try home.configure(["commit.delay": "10ms"])
            try home.mount()
            try home.waitUntil("the links are committed") {
                try store.git("ls-tree", "--name-only", "HEAD", "gone", "made") == "made"
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - rename(2) of a secret over a symbolic link, or of a link over a secret, replaces it, whatever its name on disk.
    @Test(.slow) func secretsAndLinksReplaceOneAnother() throws {
        try withStore { home, store in
            try FileCalls.makeDirectory(home.visible("work/dir"))
            try home.succeed(["ln", "-s", "nowhere", "l"], in: home.visible("work"))
            try FileCalls.rename(home.visible("work/s"), to: home.visible("work/l"))
            #expect(try visibleNames(home.visible("work")) == ["dir", "l"])
            #expect(try FileCalls.read(home.visible("work/l")) == Array("one\n".utf8))
            #expect(try store.show("l") == Array("one\n".utf8))

            try home.succeed(["ln", "-s", "dir", "d"], in: home.visible("work"))
            try FileCalls.rename(home.visible("work/d"), to: home.visible("work/l"))
            #expect(try visibleNames(home.visible("work")) == ["dir", "l"])
            #expect(try visibleNames(store.path) == ["dir", "l"])
            try FileCalls.save(Array("x\n".utf8), to: home.visible("work/l/x"))
            #expect(try store.show("dir/x") == Array("x\n".utf8))
            try home.unmount()
            #expect(try store.git("ls-files") == ".gitattributes\n.gpg-id\ndir/x.gpg\nl")
            #expect(try store.git("status", "--porcelain").isEmpty)
        }
    }
}
