import Glibc
import SystemPackage
import TestKit
import Testing

/// `store remove` while the store is mounted: what is in step goes, what cannot be saved is not lost.
@Suite struct MountedRemovalTests {
    private func mounted(_ home: TestHome, _ body: (TestStore) throws -> Void) throws {
        let key = try home.makeKey("a@example.org")
        let one = try home.makeStore("one", recipients: [key], remote: true)
        try one.insert("mail/imap", "one's")
        try one.git("push", "-q")
        try home.succeed(["passdir", "store", "add", "s", "--url", one.remote?.string ?? ""])
        try home.mount()
        try body(one)
        try home.unmount(discardUnsaved: true)
    }

    /// Saved in the daemon's own way, several times over, nothing is left that only the folder has once it is in step.
    @Test(.slow) func whatIsInStepGoesWithoutAWord() throws {
        try TestHome.with { home in
            try mounted(home) { one in
                let place = home.mountPoint.appending("s").string
                let script = """
                    for i in 1 2 3 4 5; do echo $i > '\(place)/new'; echo $i > '\(place)/mail/imap'; done
                    mv '\(place)/mail' '\(place)/post'; echo x > '\(place)/gone'; rm '\(place)/gone'
                    """
                try home.succeed(["bash", "-c", script])
                try home.succeed(["passdir", "sync", "s"])
                let done = try home.run(["passdir", "store", "remove", "s", "--yes"])
                #expect(done.exitCode == 0 && done.errors.isEmpty, "\(done.errors)")
                let files = try one.remoteGit("ls-tree", "-r", "--name-only", "HEAD")
                #expect(files.contains("new.gpg") && files.contains("post/imap.gpg"), "\(files)")
                #expect(access(home.path("data/passdir/removed").string, F_OK) != 0)
            }
        }
    }

    /// Plaintext that is only in the daemon's memory can be neither removed nor moved.
    @Test func whatIsInMemoryOnlyIsRefused() throws {
        try TestHome.with { home in
            try mounted(home) { _ in
                let stores = home.path("data/passdir/stores")
                let id = String(decoding: try home.succeed(["ls", stores.string]).dropLast(), as: UTF8.self)
                let list = stores.appending(id).appending(".gpg-id").string
                let errors = try home.save("precious", to: [home.mountPoint.pushing("s/new")]) {
                    try home.succeed([
                        "bash", "-c", "cp '\(list)' ~/list; echo nobody@example.org > '\(list)'",
                    ])
                }
                #expect(errors == [Errno(rawValue: 126)])
                let refused = try home.run(["passdir", "store", "remove", "s", "--yes"])
                #expect(
                    refused.exitCode == 1 && refused.errors.contains("s/new could not be saved"),
                    "\(refused.errors)")
                #expect(try home.passdir("store", "list").output.contains("s "))
                try home.succeed(["passdir", "store", "remove", "s", "--force", "--yes"])
            }
        }
    }
}
