import SystemPackage
import TestKit
import Testing

/// Names for which other machines refuse a whole branch: git's own, in the forms that other systems take for them, and
/// passdir's own.
@Suite struct RefusedNamesTests {
    private static let folders = [
        ".Git", ".GIT", ".git.", ".git ", ".git...", ".git . .", "git~1", "GIT~1", "git~2", ".git\\x",
        "x\\.git", ".git:x",
        ".git::$INDEX_ALLOCATION", ".g\u{200c}it", "\u{feff}.git", ".PASSDIR-x", ".gitignore",
        ".gitattributes ",
        ".GITMODULES", ".gpg-id", ".GPG-ID",
    ]
    /// What has such a name with the `.gpg` that is added on disk.
    private static let secrets = [".git\\x", ".git:x", ".git::$INDEX_ALLOCATION", "x\\.git:y", ".PASSDIR-x"]
    private static let links = [
        ".Git", "git~1", ".gitmodules", ".GitIgnore", ".gpg-id", ".git\\x", "gitmod~1", "GI7EBA~1",
    ]

    /// Holds:
    /// - A name that no other machine would take from the remote is EPERM when a file, folder or link is made or renamed.
    @Test func theMountMakesNone() throws {
        try prepared { home, store in
            let script = """
                import ctypes, os, sys
                libc = ctypes.CDLL(None, use_errno=True)
                def refused(what, name, call, *words):
                    try: call(*words)
                    except OSError as error:
                        if error.errno == 1: return
                        print(what, ascii(name), error.errno)
                    else: print(what, ascii(name), "is taken")
                def exchange(one, other):
                    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
                        raise OSError(ctypes.get_errno(), "exchange")
                make = lambda name: open(name, "w").close()
                folders, secrets, links = [words.split("|") for words in sys.argv[1:]]
                os.mkdir("w"); os.chdir("w")
                os.mkdir("f"); os.mkdir("t"); make("s"); os.symlink("nowhere", "l"); os.symlink("s", "ls")
                for name in folders:
                    refused("mkdir", name, os.mkdir, name)
                    refused("rename folder", name, os.rename, "f", name)
                    refused("rename folder into", name, os.rename, "f", "t/" + name)
                for name in secrets:
                    refused("create", name, make, name)
                    refused("mknod", name, os.mknod, name)
                    refused("rename secret", name, os.rename, "s", name)
                    refused("link to a secret", name, os.symlink, "s", name)
                    refused("rename link to a secret", name, os.rename, "ls", name)
                for name in links:
                    refused("link", name, os.symlink, "nowhere", name)
                    refused("rename link", name, os.rename, "l", name)
                os.mkdir(".git\\u00e9"); make(".git\\u00e9/s"); make("git~1"); make(".Git"); make("x\\\\y")
                # Somebody else made this one.
                os.mkdir(os.environ["S"] + "/w/.GIT")
                refused("exchange", ".GIT", exchange, "f", ".GIT")
                refused("rename onto", ".GIT", os.rename, "f", ".GIT")
                os.rmdir(".GIT")

                """
            let words = [Self.folders, Self.secrets, Self.links].map { $0.joined(separator: "|") }
            let output = try home.succeed(
                ["env", "S=\(store.path)", "python3", "-c", script] + words,
                in: home.mountPoint.appending("work"),
                limit: .seconds(100))
            #expect(String(decoding: output, as: UTF8.self) == "")
            try committed(
                ["git~1.gpg", ".Git.gpg", "x\\y.gpg", "s.gpg", "ls.gpg", "l"].map { "w/\($0)" }, home, store)
        }
    }

    /// Holds:
    /// - What others put into a store under a name that no other machine would take keeps nothing else from being committed,
    ///   also when it is changed, renamed or removed in the mount.
    @Test(.slow) func whatOthersPutThereStopsNothing() throws {
        try prepared { home, store in
            let script = """
                import os
                make = lambda name: open(name, "w").close()
                for number, name in enumerate([".Git", ".git.", "git~1", ".git:x", "a/x\\\\.git"]):
                    os.makedirs(os.environ["S"] + "/" + name)
                    make(name + "/s")
                    os.mkdir(name + "/d")
                    make(name + "/d/s")
                    os.rename(name + "/s", f"out{number}")
                    os.rename(name + "/d", f"folder{number}")
                    make(name + "/stays")
                os.rename(".git.", "named")
                make("last")

                """
            try home.succeed(
                ["env", "S=\(store.path)", "python3", "-c", script], in: home.mountPoint.appending("work"),
                limit: .seconds(100))
            try committed(
                ["last.gpg", "named/stays.gpg"] + (0..<5).flatMap { ["out\($0).gpg", "folder\($0)/s.gpg"] },
                home, store)
            let told = try home.passdir("status").output
            #expect(told.contains(".Git/stays.gpg has a name reserved for git"), "\(told)")
            #expect(try home.passdir("sync", "work").exitCode == 1)
            try home.succeed(
                ["rm", "-r", ".Git", "git~1", ".git:x", "a"], in: home.mountPoint.appending("work"))
            try FileCalls.save([1], to: home.mountPoint.pushing("work/after"))
            try committed(["after.gpg"], home, store)
            let synced = try home.passdir("sync", "work")
            #expect(synced.exitCode == 0, "\(synced.errors)")
            #expect(try !home.passdir("status").output.contains("reserved for git"))
            let all = try store.git("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "HEAD")
            #expect(!all.lowercased().contains("stays.gpg\n.git"), "\(all)")
        }
    }

    /// Waits until these files are in the branch of the remote, and that every other machine takes it.
    private func committed(_ files: [String], _ home: TestHome, _ store: TestStore) throws {
        try home.waitUntil("all is pushed", limit: .seconds(60)) {
            let there = try store.remoteGit("ls-tree", "-rz", "--name-only", "main").split(separator: "\0")
            return files.allSatisfy { there.contains(Substring($0)) }
        }
    }

    private func prepared(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.configure(["commit.delay": "50ms"])
            try home.addStores([store])
            try home.mount()
            try body(home, store)
            try home.unmount()
        }
    }
}
