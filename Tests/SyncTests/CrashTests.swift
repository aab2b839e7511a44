import Glibc
import SystemPackage
import TestKit
import Testing

/// The daemon is killed at a named place, and the next mount finishes or takes back.
@Suite struct CrashTests {
    static let places = [
        "commit.noted", "commit.before-ref", "commit.after-ref", "merge.noted", "merge.before-index",
        "merge.before-ref", "merge.after-ref", "sync.before-push", "sync.after-push",
    ]

    @Test(arguments: places) func killedAt(_ place: String) throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try store.insert("both", "pw\nuser\nurl\n")
            try store.git("push", "-q")
            // Another clone, ahead of ours: there is something to merge.
            try home.succeed(["git", "clone", "-q", home.path("work.git").string, home.path("other").string])
            let other = ["PASSWORD_STORE_DIR": home.path("other").string]
            try home.succeed(
                ["pass", "insert", "-m", "-f", "both"], input: Array("pw\nuser\nthere\n".utf8), extra: other)
            try home.succeed(["pass", "insert", "-m", "new"], input: Array("new".utf8), extra: other)
            try home.succeed(["pass", "git", "push", "-q"], extra: other)

            // Nothing is fetched before the save.
            try home.addStores([store])
            try home.append("[sync]\n\tinterval = 0s\n", to: "config/passdir/config")
            try home.mount(extra: ["PASSDIR_FAULT": place])
            // What is acknowledged stays, whatever happens. The daemon may already be gone.
            let saved = (try? save(home, "both", "mine\nuser\nurl\n")) != nil
            _ = try? home.run(["passdir", "sync"], limit: .seconds(30))
            try home.waitUntil("the fault has killed the daemon") { home.daemons().isEmpty }
            try home.freeMount()

            try home.mount()
            let synced = try home.run(["passdir", "sync"], limit: .seconds(60))
            #expect(synced.exitCode == 0, "\(synced.errors)")
            try home.unmount()
            let text = String(decoding: try store.show("both"), as: UTF8.self)
            let story = try store.git("log", "--graph", "--stat", "--oneline") + store.git("reflog")
            #expect(text == (saved ? "mine\nuser\nthere\n" : "pw\nuser\nthere\n"), "\(story)")
            #expect(try store.show("new") == Array("new".utf8))
            let dirt = try store.git("status", "--porcelain", "--untracked-files=all")
            #expect(dirt == "")
            #expect(try store.git("rev-parse", "HEAD") == store.remoteGit("rev-parse", "main"))
            try store.git("fsck", "--strict")
            #expect(access(store.path.pushing(".git/passdir-commit").string, F_OK) != 0)
        }
    }

    private func save(_ home: TestHome, _ name: String, _ text: String) throws {
        let file = try FileDescriptor.open(
            home.mountPoint.pushing(FilePath("work/\(name)")), .writeOnly, options: [.truncate])
        do {
            _ = try file.writeAll(text.utf8)
        } catch {
            try? file.close()
            throw error
        }
        try file.close()
    }
}
