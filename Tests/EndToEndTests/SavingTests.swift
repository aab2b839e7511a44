import Glibc
import SystemPackage
import TestKit
import Testing

/// Creating, writing, truncating and closing, as programs do it.
@Suite struct SavingTests {
    /// The first save after a mount is the one that looks for the keys.
    ///
    /// Holds:
    /// - A save asks gpg-agent for nothing, and waits for none that does not answer.
    @Test func aStoppedAgentHoldsNoSaveUp() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let other = try home.makeKey("b@example.org")
            let store = try home.makeStore("work", recipients: [key, other], remote: true)
            try home.addStores([store])
            try home.mount()
            let answer = String(
                decoding: try home.succeed(["gpg-connect-agent", "--no-autostart", "GETINFO pid", "/bye"]),
                as: UTF8.self)
            let agent = try #require(answer.split(separator: "\n").first.flatMap { pid_t($0.dropFirst(2)) })
            kill(agent, SIGSTOP)
            defer { kill(agent, SIGCONT) }
            for name in ["one", "two"] {
                let file = home.visible("work/\(name)").string
                let saved = try home.run(["sh", "-c", "echo text > \"$0\"", file], limit: .seconds(20))
                #expect(!saved.timedOut && saved.exitCode == 0, "\(saved.errors)")
            }
            kill(agent, SIGCONT)
            for name in ["one", "two"] { #expect(try store.show(name) == Array("text\n".utf8)) }
            try home.unmount()
        }
    }

    /// Holds:
    /// - A save is encrypted and durable on disk when close(2) or fsync(2) returns success.
    /// - What is read is byte for byte what was encrypted, and what is encrypted is byte for byte what was
    ///   written.
    /// - A shell's `>` that writes nothing saves an empty secret; one that writes saves what it wrote, and
    ///   never an empty secret before that.
    /// - Writes of a file opened with O_APPEND go to its end; a write behind the end fills the gap with zero
    ///   bytes.
    /// - truncate(2) makes a secret shorter or, with zero bytes, longer, and saves it at once.
    @Test(.slow) func whatIsWrittenIsWhatPassShows() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.addStores([store])
            try home.mount()
            let file = home.visible("work/s")

            // Durable when fsync returns, while the file is still open.
            let open = try FileDescriptor.open(
                file, .readWrite, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
            #expect(!FileCalls.exists(store.path.appending("s.gpg")))
            try open.writeAll([0, 255, 10])
            #expect(fsync(open.rawValue) == 0)
            #expect(try store.show("s") == [0, 255, 10])
            #expect(pwrite(open.rawValue, [7], 1, 6) == 1)
            var bytes = [UInt8](repeating: 1, count: 9)
            #expect(try bytes.withUnsafeMutableBytes { try open.read(fromAbsoluteOffset: 0, into: $0) } == 7)
            try open.close()
            #expect(try store.show("s") == [0, 255, 10, 0, 0, 0, 7])

            for (command, content) in [
                ("> s", ""), ("echo one > s", "one\n"), ("echo two >> s", "one\ntwo\n"),
                ("(echo a; echo b) > s", "a\nb\n"), ("exec 3<>s; echo x >&3", "x\nb\n"),
                ("truncate -s 1 s", "x"),
                ("truncate -s 3 s", "x\0\0"), ("dd if=/dev/null of=s status=none", ""),
                ("printf %s abc | tee s", "abc"),
            ] {
                try home.succeed(["bash", "-c", command], in: home.visible("work"))
                // Nothing was written: only the last close tells that an empty secret is meant, and nobody waits for
                // the end of that.
                if content.isEmpty {
                    try home.waitUntil("the empty secret is saved") { try store.show("s").isEmpty }
                }
                #expect(try store.show("s") == Array(content.utf8), "\(command)")
            }
            try home.unmount()
            // Each save that a reader could see was committed or gathered; none of them is a wrong content.
            #expect(try store.git("status", "--porcelain").isEmpty)
        }
    }

    /// Holds:
    /// - A shell's `>` that writes nothing saves an empty secret; one that writes saves what it wrote, and
    ///   never an empty secret before that.
    @Test func anOrphanThatClosesWhatItInheritedSavesNothing() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("s", "old\n")
            let ciphertext = try home.bytes(of: "work/s.gpg")
            try home.addStores([store])
            try home.mount()
            // As a library does that starts a program nobody has to wait for: fork twice, close everything.
            let script = """
                import os, sys
                file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
                (ready, go), (told, tell) = os.pipe(), os.pipe()
                parent = os.fork()
                if parent == 0:
                    if os.fork() == 0:
                        os.read(ready, 1)
                        os.close(file)
                        os.write(tell, b"x")
                    os._exit(0)
                os.waitpid(parent, 0)
                os.write(go, b"x")
                os.read(told, 1)
                same = open(sys.argv[2], "rb").read() == bytes.fromhex(sys.argv[3])
                os.write(file, b"new")
                os.close(file)
                sys.exit(0 if same else 3)
                """
            let hex = ciphertext.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let program = ["python3", "-c", script, home.visible("work/s").string]
            try home.succeed(program + [home.path("work/s.gpg").string, hex])
            #expect(try store.show("s") == Array("new".utf8))
            try home.unmount()
        }
    }

    /// Holds:
    /// - Until the program that writes a secret closes it or calls fsync(2), the old ciphertext stays on
    ///   disk.
    @Test func anOldSecretStaysUntilTheNewOneIsWhole() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("s", "old\n")
            let ciphertext = try home.bytes(of: "work/s.gpg")
            try home.addStores([store])
            try home.mount()
            let open = try Editor(home, home.visible("work/s"), .truncate)
            try open.write("half")
            #expect(try home.bytes(of: "work/s.gpg") == ciphertext)
            try open.close()
            #expect(try store.show("s") == Array("half".utf8))

            // bash closes a copy of the descriptor before the programs have written: that is no save.
            let second = try home.bytes(of: "work/s.gpg")
            try home.succeed(
                ["bash", "-c", "{ cat s.gpg >../seen; echo new; } > ../mnt/work/s"], in: store.path)
            #expect(try home.bytes(of: "seen") == second)
            #expect(try store.show("s") == Array("new\n".utf8))
            try home.unmount()
        }
    }

    /// Holds:
    /// - Where the file on disk was replaced by somebody else since it was opened, a save keeps their version
    ///   beside it, as `NAME.conflict-HOST-TIME`.
    @Test func theOtherVersionIsKept() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("s", "base\n")
            try home.addStores([store])
            try home.mount()
            let open = try FileDescriptor.open(home.visible("work/s"), .readWrite)
            try store.insert("s", "theirs\n")
            try open.writeAll(Array("ours".utf8))
            try open.close()
            #expect(try store.show("s") == Array("ours\n".utf8))
            let names = try FileCalls.names(in: home.visible("work")).filter { $0.hasPrefix("s.conflict-") }
            #expect(names.count == 1)
            #expect(try FileCalls.read(home.visible("work/\(names.first ?? "")")) == Array("theirs\n".utf8))
            try home.unmount()
            #expect(try store.git("status", "--porcelain").isEmpty)
        }
    }

    /// Holds:
    /// - Modes are 0700 for directories and 0600 for secrets, and the owner is the user who mounted; chmod(2)
    ///   succeeds and changes nothing, chown(2) to somebody else is EPERM.
    /// - The modification time of a secret is that of its last save, and can be set.
    /// - Hard links are EPERM.
    @Test func attributesAreThoseOfAPrivateFile() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], git: false)
            try store.insert("deep/s", "text\n")
            try home.addStores([store])
            try home.mount()
            let file = home.visible("work/deep/s").string
            let facts = try home.succeed([
                "stat", "--format=%a %u %h", home.visible("work/deep").string, file,
            ])
            #expect(
                String(decoding: facts, as: UTF8.self).split(separator: "\n").map { $0.prefix(3) } == [
                    "700", "600",
                ])
            #expect(String(decoding: facts, as: UTF8.self).contains("600 \(geteuid()) 1"))
            #expect(chmod(file, 0o640) == 0)
            #expect(chown(file, geteuid(), getegid()) == 0)
            #expect(chown(file, 12345, getegid()) == -1 && errno == EPERM)
            try home.succeed(["touch", "--date=2001-02-03T04:05:06Z", file])
            let after = try home.succeed(["stat", "--format=%a %Y", file])
            #expect(String(decoding: after, as: UTF8.self) == "600 981173106\n")
            try FileCalls.save([1], to: FilePath(file))
            let saved = try home.succeed(["stat", "--format=%Y", file])
            #expect(Int(String(decoding: saved.dropLast(), as: UTF8.self)) ?? 0 > 1_700_000_000)
            #expect(link(file, home.visible("work/deep/linked").string) == -1 && errno == EPERM)
            try home.unmount()
        }
    }

    /// Each close of a file that is still empty asks who else may write to it; that takes no longer where there are many.
    @Test(.slow, arguments: ["new", "s"]) func manyDescriptorsOfAnEmptyFileAreClosedInTime(_ name: String)
        throws
    {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], git: false)
            try store.insert("s", "old\n")
            try home.addStores([store])
            try home.mount()
            let factor = try home.succeed([
                "python3", "-c",
                """
                import fcntl, os, resource, sys, time
                resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
                def closing(count):
                    file = os.open(sys.argv[1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
                    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3) for _ in range(count)]
                    began = time.monotonic()
                    for copy in copies[:100]: os.close(copy)
                    took = time.monotonic() - began
                    os.write(file, b"x")
                    for copy in copies[100:]: os.close(copy)
                    os.close(file)
                    return took
                few = min(closing(200) for _ in range(3))
                print(min(closing(4000) for _ in range(3)) / few)
                """, home.visible("work/" + name).string,
            ])
            #expect((Double(String(decoding: factor.dropLast(), as: UTF8.self)) ?? 1000) < 5)
            try home.unmount()
        }
    }

    /// Holds:
    /// - What another program puts in the place of a secret while it is saved through the mount, at whatever moment, gets a
    ///   name beside it.
    @Test(.slow) func whatComesWhileASecretIsSavedIsKept() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")])
            try store.insert("s", "theirs\n")
            try home.configure(["commit.delay": "1h"])
            try home.addStores([store])
            try home.mount()
            let (next, place) = (store.path.appending(".next"), store.path.appending("s.gpg"))
            try home.succeed(["cp", place.string, home.path("theirs").string])
            try home.write("", to: "go")
            let saver = try home.start([
                "python3", "-c",
                """
                import os, sys
                file = os.open(sys.argv[1], os.O_RDWR)
                number = 0
                while os.path.exists(sys.argv[2]):
                    os.pwrite(file, b"%06d\\n" % number, 0)
                    os.fsync(file)
                    number += 1
                """, home.visible("work/s").string, home.path("go").string,
            ])
            func inode(_ path: FilePath) -> ino_t {
                var facts = stat()
                return lstat(path.string, &facts) == 0 ? facts.st_ino : 0
            }
            let first = inode(place)
            try home.waitUntil("the program saves") { inode(place) != first }
            for _ in 0..<120 {
                try home.succeed(["cp", home.path("theirs").string, next.string])
                let number = inode(next)
                try FileCalls.rename(next, to: place)
                var kept: FilePath?
                // First it is under our temporary name.
                try home.waitUntil("it is kept") {
                    kept = try FileCalls.names(in: store.path).filter { $0.hasPrefix("s.conflict-") }
                        .map { store.path.appending($0) }.first { inode($0) == number }
                    return kept != nil
                }
                if let kept { try FileCalls.unlink(kept) }
            }
            try FileCalls.unlink(home.path("go"))
            #expect(try saver.wait(limit: .seconds(60)).exitCode == 0)
            try home.unmount()
        }
    }
}
