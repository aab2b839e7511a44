import Glibc
import SystemPackage
import TestKit
import Testing

/// `.passdir` as the kernel and real programs see it; the rules themselves are in MountTests.
@Suite struct ControlDirectoryTests {
    private static let secret =
        "hunter2\nlogin: ann\notpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\n"

    /// Runs a test with the store `work` mounted, whose secret is `web/site`.
    private static func with(_ body: (TestHome) throws -> Void) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("web/site", secret)
            try home.addStores([store])
            try home.configure(["access.log": "true"])
            try home.mount()
            try body(home)
            try home.unmount()
        }
    }

    /// Holds:
    /// - `.passdir` in the mount point is not listed, so that no program that walks the mount enters it; it can be named.
    @Test func programsThatWalkTheMountDoNotEnterIt() throws {
        try Self.with { home in
            let mount = home.mountPoint.string
            try home.succeed(["cat", "\(mount)/.passdir/first/work/web/site"])
            func log() throws -> String { try home.passdir("access", "log", "--json").output }
            try home.waitUntil("the read is noted") { try log().contains("work/web/site") }
            for walk in [
                ["find", mount, "-type", "f"], ["du", "-a", mount],
                ["sh", "-c", "ls -alR \(mount)"],
                ["rsync", "-a", "--dry-run", mount, "\(home.path("copy"))"],
            ] {
                let output = String(decoding: try home.succeed(walk), as: UTF8.self)
                #expect(!output.contains(".passdir"), "\(walk)")
            }
            try home.succeed(["sh", "-c", "grep -r hunter2 \(mount) | grep -c ."])
            // Each program that read has its line; none of them has read anything but the secret by its own name.
            try home.waitUntil("grep's reads are noted") { try log().contains("grep") }
            let noted = try log()
            #expect(
                noted.split(separator: "\n").allSatisfy { !$0.contains(".passdir") || $0.contains("/cat\"") })
        }
    }

    /// Holds:
    /// - `first/STORE/PATH` is the first line without its newline, `fields/STORE/PATH/NAME` a field, `otp/STORE/PATH` the
    ///   one-time password of the moment, good for another second at least.
    @Test func valuesAreFilesToEveryProgram() throws {
        try Self.with { home in
            let control = home.mountPoint.appending(".passdir").string
            let first = "\(control)/first/work/web/site"
            func output(_ command: [String]) throws -> String {
                String(decoding: try home.succeed(command), as: UTF8.self)
            }
            #expect(try output(["cat", first]) == "hunter2")
            #expect(try output(["wc", "-c", first]).hasPrefix("7 "))
            #expect(try output(["tail", "-c", "3", first]) == "er2")
            #expect(try output(["cat", "\(control)/fields/work/web/site/login"]) == "ann")
            #expect(try output(["ls", "\(control)/fields/work/web/site"]) == "login\n")
            #expect(
                try output(["ls", control])
                    == "README\nat\nfields\nfirst\nhistory\notp\nrendered\nrun\nstatus.json\nversion\n")
            let mapped = """
                import mmap, os, sys
                with open(sys.argv[1], "rb") as file:
                    with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages: print(pages[:].decode())
                """
            #expect(try output(["python3", "-c", mapped, first]) == "hunter2\n")
            let code = try output(["cat", "\(control)/otp/work/web/site"])
            let expected = try output([
                "oathtool", "--totp", "-b", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
            ])
            // Between the two another half minute may have begun.
            let next = try output([
                "oathtool", "--totp", "-b", "-N", "30 seconds ago", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
            ])
            #expect([expected, next].contains(code))

            try home.succeed([
                "sh", "-c", "printf 'changed\\nlogin: eve\\n' > \(home.visible("work/web/site"))",
            ])
            #expect(try output(["cat", first]) == "changed")
            #expect(try output(["cat", "\(control)/fields/work/web/site/login"]) == "eve")
            #expect(try home.run(["sh", "-c", "echo x > \(first)"]).exitCode != 0)
            let missing = try home.run(["cat", "\(control)/fields/work/web/site/nosuch"])
            #expect(missing.exitCode == 1 && missing.errors.contains("No such file"))
        }
    }

    /// Holds:
    /// - Rules, locks and the access log hold for what is below `.passdir` as for the secret by its own name.
    @Test func rulesAndLocksHold() throws {
        try Self.with { home in
            let control = home.mountPoint.appending(".passdir").string
            try home.succeed(["cat", "\(control)/first/work/web/site"])
            try home.succeed(["passdir", "lock", "work"])
            for view in [
                "first/work/web/site", "fields/work/web/site/login", "otp/work/web/site",
                "at/HEAD/work/web/site",
            ] {
                let locked = try home.run(["cat", "\(control)/\(view)"])
                #expect(locked.exitCode == 1 && locked.errors.contains("Permission denied"), "\(view)")
            }
            try home.succeed(["passdir", "unlock", "work"])
            try home.succeed(["passdir", "access", "set", "work/web", "--deny"])
            #expect(try home.run(["cat", "\(control)/first/work/web/site"]).exitCode == 1)
            #expect(try home.run(["ls", "\(control)/fields/work/web/site"]).exitCode != 0)
            try home.succeed(["ls", "-l", "\(control)/first/work/web"])
        }
    }

    /// Holds:
    /// - `status.json` is what `passdir status --json` prints.
    @Test(.slow) func theStatusIsAFile() throws {
        try Self.with { home in
            let file = home.mountPoint.appending(".passdir/status.json").string
            try home.waitUntil("both say the same") {
                let told = String(decoding: try home.succeed(["cat", file]), as: UTF8.self)
                return try told.contains("\"mount\"") && told == home.passdir("status", "--json").output
            }
            let size = String(decoding: try home.succeed(["stat", "-c", "%s", file]), as: UTF8.self)
            #expect((Int(size.dropLast()) ?? 0) > 100)
            #expect(try home.run(["sh", "-c", "echo x > \"$1\"", "sh", file]).errors.contains("Read-only"))
        }
    }

    /// A counter is raised by one reader at a time, through the mount and by commands: none has a code that another had.
    @Test(.slow) func countedCodesAreGivenOnce() throws {
        try Self.with { home in
            let uri = "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=0"
            let secret = home.visible("work/counted").string
            try home.succeed(["sh", "-c", "printf 'x\\n%s\\n' '\(uri)' > \(secret)"])
            let reader = "cat \(home.mountPoint)/.passdir/otp/work/counted"
            let readers = (1...4).map { "\(reader) > code\($0) & passdir otp work/counted > code\($0 + 4) &" }
            try home.succeed(["sh", "-c", "cd; " + readers.joined(separator: " ") + " wait"])
            let codes = String(
                decoding: try home.succeed(["sh", "-c", "cd; cat code?"]), as: UTF8.self
            ).split(separator: "\n")
            #expect(codes.count == 8 && Set(codes).count == 8, "\(codes)")
            #expect(codes.contains("755224") && codes.contains("162583"), "RFC 4226 has those of 0 and 7")
            // Two that are open at once are two codes, whoever reads first.
            let both = """
                import os, sys
                one, other = (os.open(sys.argv[1], os.O_RDONLY) for _ in range(2))
                print(os.read(other, 100) != os.read(one, 100), os.pread(one, 100, 0) != os.pread(other, 100, 0))
                """
            let value = home.mountPoint.appending(".passdir").pushing("otp/work/counted").string
            let told = String(decoding: try home.succeed(["python3", "-c", both, value]), as: UTF8.self)
            #expect(told == "True True\n")
            let text = String(decoding: try home.succeed(["cat", secret]), as: UTF8.self)
            #expect(text.contains("counter=10"))
            let names = String(
                decoding: try home.succeed(["ls", home.visible("work").string]), as: UTF8.self)
            #expect(!names.contains("conflict"), "\(names)")
        }
    }

    /// Another process has the turn and keeps it: who waits for it can be killed, and all else goes on.
    @Test func aReaderWhoWaitsForATurnCanBeKilled() throws {
        try Self.with { home in
            let uri = "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=0"
            let secret = home.visible("work/counted").string
            try home.succeed(["sh", "-c", "printf 'x\\n%s\\n' '\(uri)' > \(secret)"])
            let control = home.mountPoint.appending(".passdir")
            let code = control.pushing("otp/work/counted").string
            try home.succeed(["cat", code])
            let holding = """
                import fcntl, os, signal, struct, sys
                file = os.open(os.environ["XDG_RUNTIME_DIR"] + "/passdir/counting", os.O_RDWR)
                fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
                open(sys.argv[1], "w").close()
                signal.pause()
                """
            let held = home.path("held")
            let holder = try home.start(["python3", "-c", holding, held.string])
            try home.waitUntil("the turn is taken") { access(held.string, F_OK) == 0 }
            let readers = try (0..<3).map { _ in try home.start(["cat", code]) }
            let command = try home.start(["passdir", "otp", "work/counted"])
            try home.succeed(["cat", control.pushing("first/work/counted").string])
            try home.succeed(["cat", secret], limit: .seconds(10))
            for reader in readers + [command] {
                #expect(!reader.hasEnded)
                reader.signal(SIGKILL)
                let result = try reader.wait(limit: .seconds(20))
                #expect(!result.timedOut && result.exitCode == 128 + SIGKILL)
            }
            holder.signal(SIGKILL)
            _ = try holder.wait()
            // RFC 4226 has the codes of 0, 1 and so on: those who were killed have used none up.
            #expect(String(decoding: try home.succeed(["cat", code]), as: UTF8.self) == "287082\n")
        }
    }
}
