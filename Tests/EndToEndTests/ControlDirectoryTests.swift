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
            #expect(!noted.contains("first/") && !noted.contains("otp/"))
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
            #expect(try output(["ls", control]) == "README\nfields\nfirst\notp\nversion\n")
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
            for view in ["first/work/web/site", "fields/work/web/site/login", "otp/work/web/site"] {
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
}
