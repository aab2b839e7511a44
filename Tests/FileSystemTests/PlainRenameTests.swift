import Glibc
import SystemPackage
import TestKit
import Testing

/// A store on a file system that knows no flags of renameat2(2), as NFS: bindfs shows its folder.
@Suite struct PlainRenameTests {
    /// Holds:
    /// - Where the file system of a store knows no flags of renameat2(2), renames to new names, conflicts and merges go on, and
    ///   nothing is put in the place of another file.
    @Test func namesChangeWhereTheDiskKnowsNoFlags() throws {
        try TestHome.with { home in
            let store = try home.makeStore(
                "store", recipients: [try home.makeKey("a@example.org")], remote: true)
            for name in ["one", "two", "folder/three"] { try store.insert(name, "\(name)\n") }
            try store.git("push", "-q")
            let clone = home.path("clone").string
            try home.succeed(["git", "clone", "-q", try #require(store.remote).string, clone])
            let change = "cp one.gpg theirs.gpg; git add .; git commit -qm Copy.; git push -q"
            try home.succeed(["sh", "-ec", "cd '\(clone)'; \(change)"])
            let folder = home.path("disk")
            try home.succeed(["mkdir", folder.string])
            let disk = try home.start(["bindfs", "-f", store.path.string, folder.string])
            try home.waitUntil("the disk is mounted") { home.mountPoints().contains(folder.string) }
            // What the test is about.
            let flagged = """
                import ctypes, os, sys
                libc = ctypes.CDLL(None, use_errno=True)
                print(libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 1), ctypes.get_errno())
                """
            try home.write("", to: "disk/plain")
            let (plain, other) = (folder.appending("plain").string, folder.appending("other").string)
            #expect(try home.run(["python3", "-c", flagged, plain, other]).output == "-1 \(EINVAL)\n")
            try home.succeed(["rm", plain])

            try home.succeed(["passdir", "store", "add", "work", "--path", folder.string])
            try home.mount()
            let top = home.mountPoint.appending("work")
            try home.succeed(["mv", "one", "new"], in: top)
            try home.succeed(["mv", "folder", "moved"], in: top)
            try home.succeed(["passdir", "mv", "work/two", "work/moved/two"])
            for (name, text) in [("new", "one\n"), ("moved/three", "folder/three\n"), ("moved/two", "two\n")]
            {
                #expect(try home.succeed(["cat", name], in: top) == Array(text.utf8))
            }
            #expect(
                try home.run(["python3", "-c", flagged, "new", "moved/two"], in: top).output
                    == "-1 \(EEXIST)\n")
            #expect(try home.succeed(["cat", "moved/two"], in: top) == Array("two\n".utf8))
            // What another machine has pushed is put in place.
            try home.succeed(["passdir", "sync"])
            try home.waitUntil("it is merged") { access(top.appending("theirs").string, F_OK) == 0 }
            try home.unmount()
            try home.succeed(["fusermount3", "-u", folder.string])
            #expect(try disk.wait(limit: .seconds(120)).exitCode == 0)
        }
    }
}
