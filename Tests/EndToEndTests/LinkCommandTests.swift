import SystemPackage
import TestKit
import Testing

/// `passdir link` and `passdir unlink`.
@Suite struct LinkCommandTests {
    private static func with(mounted: Bool = true, _ body: (TestHome) throws -> Void) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("db", "hunter2\n")
            try home.addStores([store])
            try home.write("token=passdir://work/db#first\n", to: "rc.tpl")
            try home.succeed(["passdir", "template", "add", "rc", "rc.tpl"])
            if mounted { try home.mount() }
            try body(home)
            if mounted { try home.unmount() }
        }
    }

    private static func text(_ home: TestHome, _ name: String) throws -> String {
        String(decoding: try FileCalls.read(home.path(name)), as: UTF8.self)
    }

    /// Holds:
    /// - A link leads to a rendered file or a secret; what was there is left alone, or kept with `--replace` until `unlink`.
    @Test(.slow) func linksAreKeptAndTakenBack() throws {
        try Self.with { home in
            let rc = home.path(".rc").string
            try home.succeed(["passdir", "link", "rc", rc])
            try home.succeed(["passdir", "link", "rc", rc])
            #expect(try Self.text(home, ".rc") == "token=hunter2\n")
            try home.succeed(["passdir", "link", "work/db", home.path("secret").string])
            #expect(try Self.text(home, "secret") == "hunter2\n")
            try home.write("mine\n", to: "own")
            let refused = try home.run(["passdir", "link", "rc", home.path("own").string])
            #expect(refused.exitCode == 1 && refused.errors.contains("own exists: --replace keeps it"))
            #expect(try Self.text(home, "own") == "mine\n")
            try home.succeed(["passdir", "link", "rc", home.path("own").string, "--replace"])
            #expect(try Self.text(home, "own") == "token=hunter2\n")
            #expect(try Self.text(home, "own.before-passdir") == "mine\n")
            let list = try home.passdir("link", "--list").output
            #expect(list.split(separator: "\n").count == 4 && list.contains("own.before-passdir"), "\(list)")
            #expect(try home.passdir("link", "--list", "--json").output.contains("\"state\":\"works\""))
            for name in ["own", ".rc", "secret"] {
                try home.succeed(["passdir", "unlink", home.path(name).string])
            }
            #expect(try Self.text(home, "own") == "mine\n")
            for gone in [".rc", "secret", "own.before-passdir"] {
                #expect(!FileCalls.exists(home.path(gone)))
            }
            #expect(try home.passdir("link", "--list").output.isEmpty)
            #expect(try home.passdir("unlink", rc).errors.contains("passdir placed no link at"))
        }
    }

    /// Holds:
    /// - A program that has put a file of its own in a link's place keeps it.
    @Test func whatAProgramPutThereStays() throws {
        try Self.with { home in
            let own = home.path("own").string
            try home.write("mine\n", to: "own")
            try home.succeed(["passdir", "link", "rc", own, "--replace"])
            try home.succeed(["sh", "-c", "echo new > \(own).new; mv \(own).new \(own)"])
            #expect(try home.passdir("link", "--list").output.contains("another file"))
            let refused = try home.passdir("unlink", own)
            #expect(refused.errors.contains("is no longer the link that passdir placed"), "\(refused)")
            #expect(try Self.text(home, "own") == "new\n")
            try home.succeed(["rm", own])
            try home.succeed(["passdir", "unlink", own])
            #expect(try Self.text(home, "own") == "mine\n")
        }
    }

    /// Holds:
    /// - No link is placed in the mount, over a folder, or where others could replace it.
    @Test func linksGoWhereOnlyTheUserCan() throws {
        try Self.with { home in
            try home.succeed(["mkdir", "-m", "777", home.path("open").string])
            try home.succeed(["mkdir", home.path("folder").string])
            for (path, said) in [
                (home.visible("work/x").string, "lies in the mount"),
                (home.path("folder").string, "is a folder, which no link replaces"),
                (home.path("open/x").string, "other users can change the folder"),
                (home.path("none/x").string, "there is no folder \(home.path("none")) for the link"),
            ] {
                let done = try home.run(["passdir", "link", "rc", path, "--replace"])
                #expect(done.exitCode == 1 && done.errors.contains(said), "\(path): \(done)")
            }
            #expect(try home.passdir("link", "nothing", home.path("x").string).exitCode == 1)
            #expect(try home.passdir("link", "--list").output.isEmpty)
        }
    }

    /// Holds:
    /// - `erase` takes links back.
    @Test func eraseTakesLinksBack() throws {
        try Self.with(mounted: false) { home in
            try home.write("mine\n", to: "own")
            try home.succeed(["passdir", "link", "rc", home.path("own").string, "--replace"])
            try home.succeed(["passdir", "link", "work/db", home.path("secret").string])
            #expect(try home.passdir("link", "--list").output.contains("leads nowhere"))
            try home.succeed(["passdir", "erase", "--yes"])
            #expect(try Self.text(home, "own") == "mine\n")
            #expect(try home.run(["ls", "-l", home.path("secret").string]).exitCode != 0)
        }
    }

    /// Holds:
    /// - Wherever `link` and `unlink` are stopped, the file is in its place or under the name that `link --list` shows.
    @Test(.slow) func aStoppedCommandLosesNothing() throws {
        try Self.with { home in
            let (own, kept) = (home.path("own").string, home.path("own.before-passdir").string)
            for call in ["symlink", "renameat2", "unlink"] {
                for command in [["link", "rc", own, "--replace"], ["unlink", own]] {
                    try home.succeed(["sh", "-c", "rm -f \(own) \(kept); echo mine > \(own)"])
                    _ = try home.passdir("unlink", own)
                    if command[0] == "unlink" {
                        try home.succeed(["passdir", "link", "rc", own, "--replace"])
                    }
                    // Killed as it makes its last call of the kind, before that does anything.
                    _ = try home.run(
                        [
                            "strace", "-f", "-o", "/dev/null", "-P", own, "-P", kept, "-e", "trace=\(call)",
                            "-e", "inject=\(call):signal=KILL:error=EIO", "passdir",
                        ] + command)
                    let there = try home.run(["sh", "-c", "cat \(own) \(kept) 2>/dev/null | grep -c mine"])
                    #expect(there.output == "1\n", "\(call) \(command)")
                    let list = try home.passdir("link", "--list")
                    #expect(list.exitCode == 0, "\(list)")
                    if try Self.text(home, "own") != "mine\n" {
                        try home.succeed(["passdir", "unlink", own])
                    }
                    #expect(try Self.text(home, "own") == "mine\n", "\(call) \(command)")
                    #expect(!FileCalls.exists(FilePath(kept)), "\(call) \(command)")
                }
            }
        }
    }
}
