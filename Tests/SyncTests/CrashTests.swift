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

    @Test(.slow, arguments: places) func killedAt(_ place: String) throws {
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

    /// A push to a folder that is ended in the middle may leave a lock there, which nobody would ever take away.
    @Test(.slow) func aPushToAFolderIsFinishedWithoutTheDaemon() throws {
        try TestHome.with { home in
            let store = try home.makeStore(
                "work", recipients: [try home.makeKey("one@example.org")], remote: true)
            try store.insert("mail", "old\n")
            try store.git("push", "-q")
            let remote = try #require(store.remote)
            // Called by git receive-pack while it holds the locks.
            let hook = "work.git/hooks/reference-transaction"
            let (pushing, mayGoOn) = (home.path("pushing").string, home.path("go on").string)
            try home.write(
                """
                #!/bin/sh
                [ "$1" = prepared ] || exit 0
                echo $PPID > '\(pushing)'
                count=0
                while [ ! -e '\(mayGoOn)' ] && [ $count -lt 300 ]; do sleep 0.1; count=$((count + 1)); done
                """, to: hook, mode: [.ownerReadWriteExecute])
            try home.addStores([store])
            try home.append("[sync]\n\tinterval = 0s\n", to: "config/passdir/config")
            try home.mount()
            try save(home, "mail", "new\n")
            try home.waitUntil("the push is in the middle") {
                ((try? home.text(of: "pushing")) ?? "").hasSuffix("\n")
            }
            let receiver = try #require(
                try pid_t(home.text(of: "pushing").split(separator: "\n").first ?? ""))
            for daemon in home.daemons() { kill(daemon, SIGKILL) }
            try home.waitUntil("the daemon is gone") { home.daemons().isEmpty }
            try home.write("", to: "go on")
            try home.waitUntil("the push is gone") { kill(receiver, 0) != 0 }
            #expect(try store.git("rev-parse", "HEAD") == store.remoteGit("rev-parse", "main"))
            for lock in ["refs/heads/main.lock", "HEAD.lock"] {
                #expect(access(remote.pushing(FilePath(lock)).string, F_OK) != 0, "\(lock)")
            }
            try home.freeMount()
        }
    }

    /// What a power cut leaves of an index that was not on the disk yet.
    enum Damage: String {
        case none, cutShort = "cut short", empty, zeros, zerosAtTheEnd = "zeros at the end"

        func apply(to index: FilePath) throws {
            let file = try FileDescriptor.open(index, .readWrite)
            defer { try? file.close() }
            let size = try file.seek(offset: 0, from: .end)
            let kept: Int64? =
                switch self {
                case .none: nil
                case .cutShort, .zerosAtTheEnd: size / 2
                case .empty, .zeros: 0
                }
            guard let kept else { return }
            try file.resize(to: kept)
            if self == .zeros || self == .zerosAtTheEnd { try file.resize(to: size) }
        }
    }

    struct KilledCommit: Sendable, CustomTestStringConvertible {
        var place: String
        var damage: Damage
        /// Whether a killed commit of long ago had left a copy of the index.
        var hasOldCopy = false

        var testDescription: String {
            "\(place), index \(damage == .none ? "whole" : damage.rawValue)\(hasOldCopy ? ", beside an old copy" : "")"
        }
    }

    static let killedCommits: [KilledCommit] = [
        .init(place: "commit.noted", damage: .none), .init(place: "commit.quiet", damage: .none),
        .init(place: "commit.before-ref", damage: .none), .init(place: "commit.before-ref", damage: .empty),
        .init(place: "commit.before-ref", damage: .zerosAtTheEnd),
        .init(place: "commit.after-ref", damage: .none), .init(place: "commit.after-ref", damage: .cutShort),
        .init(place: "commit.after-ref", damage: .empty), .init(place: "commit.after-ref", damage: .zeros),
        .init(place: "commit.after-ref", damage: .zerosAtTheEnd),
        .init(place: "commit.after-ref", damage: .none, hasOldCopy: true),
        .init(place: "commit.after-ref", damage: .cutShort, hasOldCopy: true),
        .init(place: "commit.synchronized", damage: .none),
        .init(place: "commit.synchronized", damage: .none, hasOldCopy: true),
    ]

    /// What the user has staged and not committed is nowhere but in the index.
    @Test(.slow, arguments: killedCommits)
    func whatIsStagedOutlives(_ killed: KilledCommit) throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("mail", "old\n")
            try store.insert("other", "same\n")
            if killed.hasOldCopy {
                try home.succeed(["cp", "work/.git/index", "work/.git/index.passdir-1-1"])
            }
            try home.write("one", to: "work/notes.txt")
            try store.git("add", "notes.txt")
            let staged = try store.git("rev-parse", ":notes.txt")
            try home.write("two", to: "work/notes.txt")
            try home.addStores([store])
            try home.mount(extra: ["PASSDIR_FAULT": killed.place])
            try save(home, "mail", "new\n")
            try home.waitUntil("the fault has killed the daemon") { home.daemons().isEmpty }
            try home.freeMount()
            try killed.damage.apply(to: store.path.pushing(".git/index"))
            try home.mount()
            let synced = try home.run(["passdir", "sync"], limit: .seconds(60))
            #expect(synced.exitCode == 0, "\(synced.errors)")
            try home.unmount()
            let status = try store.git("status", "--porcelain")
            #expect(status == "AM notes.txt")
            #expect(try store.git("rev-parse", ":notes.txt") == staged)
            #expect(try store.show("mail") == Array("new\n".utf8))
            #expect(try store.git("diff", "HEAD", "--stat", "--", "*.gpg") == "")
            try store.git("fsck", "--strict")
            let left = String(decoding: try home.succeed(["ls", "work/.git"]), as: UTF8.self)
            #expect(!left.contains("index.") && !left.contains("passdir-commit"))
        }
    }

    /// Without a note of ours nobody knows what to put back. What the sentence says to do is what helps.
    @Test(.slow, arguments: [Damage.cutShort, .empty, .zeros])
    func aDamagedIndexIsNamed(_ damage: Damage) throws {
        try TestHome.with { home in
            let key = try home.makeKey("one@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("mail", "old\n")
            try damage.apply(to: store.path.pushing(".git/index"))
            try home.addStores([store])
            try home.mount()
            try save(home, "mail", "new\n")
            let index = store.path.pushing(".git/index").string
            let synced = try home.run(["passdir", "sync"], limit: .seconds(60))
            #expect(synced.exitCode == 1 && synced.errors.contains("git's index \(index) is damaged ("))
            #expect(
                synced.errors.contains(
                    "): remove that file and run git reset in the store's folder, which makes it anew"),
                "\(synced.errors)")
            try home.succeed(["rm", index])
            try store.git("reset")
            try home.succeed(["passdir", "sync"], limit: .seconds(60))
            try home.unmount()
            #expect(try store.git("status", "--porcelain") == "")
            #expect(try store.show("mail") == Array("new\n".utf8))
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
