import SystemPackage
import TestKit
import Testing

/// Paths and names that no other machine would take from the remote.
@Suite struct LongPathTests {
    /// Holds:
    /// - A path of more than 4095 bytes on disk, or of more than 100 names, is ENAMETOOLONG when a file, folder or link is
    ///   made or renamed.
    @Test(.slow) func theMountMakesNone() throws {
        try prepared { home, store in
            // Made on disk, as each step down in the mount is a look at all of the path. `more` is one too many.
            let script = """
                import os
                def refused(call, *words, **more):
                    try: call(*words, **more)
                    except OSError as error: return error.errno == 36
                    return False
                make = lambda name: open(name, "w").close()
                folder = "deep/" + "/".join(["n"] * 98)
                os.makedirs("work/" + folder + "/more")
                os.chdir("mnt/work")
                top = os.open(".", os.O_RDONLY)
                os.makedirs("a/m")
                assert refused(os.rename, "deep", "a/deep"), "folder above"
                os.chdir(folder)
                make("t")
                assert refused(os.mkdir, "n"), "folder"
                assert refused(os.rename, "a/m", "m", src_dir_fd=top), "folder that comes here"
                assert refused(make, "more/file"), "file"
                assert refused(os.symlink, "t", "more/link"), "link"
                assert refused(os.rename, "t", "more/t"), "rename"
                os.rmdir("more")
                os.rename("deep", "depth", src_dir_fd=top, dst_dir_fd=top)

                """
            try home.succeed(["python3", "-c", script], in: home.folder, limit: .seconds(200))
            try home.waitUntilCommitted(store)
            #expect(try home.passdir("sync", "work", limit: .seconds(300)).exitCode == 0)
        }
    }

    /// Holds:
    /// - What others put into a store under a name or path that no other machine would take is not committed, and
    ///   `passdir status` names it.
    @Test func whatOthersPutThereIsNotCommitted() throws {
        try prepared { home, store in
            let script = """
                import os
                os.chdir("work")
                make = lambda name: open(name, "w").close()
                os.mkdir(".GIT")
                make(".GIT/s.gpg")
                for _ in range(20):
                    os.mkdir("d" * 200)
                    os.chdir("d" * 200)
                make("y" * 72 + ".gpg")

                """
            let tip = try store.git("rev-parse", "main")
            try home.succeed(["python3", "-c", script], in: home.folder)
            // Paths of 4 KiB take a debug build most of a minute.
            let synced = try home.passdir("sync", "work", limit: .seconds(300))
            #expect(synced.exitCode == 1 && synced.errors.contains("4095 bytes"), "\(synced.errors)")
            let told = try home.passdir("status", limit: .seconds(300)).output
            for part in ["has a path of more than 4095 bytes", ".GIT/s.gpg has a name reserved for git"] {
                #expect(told.contains(part), "\(told)")
            }
            #expect(try store.git("rev-parse", "main") == tip)
            // The rest goes on.
            try FileCalls.save([1], to: home.visible("work/s"))
            try home.waitUntil("it is pushed", limit: .seconds(60)) {
                try store.remoteGit("log", "-1", "--format=%s", "main")
                    == "Add given password for s to store."
            }
            try home.succeed(["sh", "-c", "rm -rf work/d* work/.GIT"], in: home.folder)
            #expect(try !home.passdir("status").output.contains("not committed"))
            #expect(try home.passdir("sync", "work").exitCode == 0)
        }
    }

    private func prepared(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.configure(["commit.delay": "50ms"])
            try home.addStores([store])
            try home.mount()
            try home.waitUntilCommitted(store)
            try body(home, store)
            try home.unmount()
        }
    }
}
