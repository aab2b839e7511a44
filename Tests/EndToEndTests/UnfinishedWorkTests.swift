import Glibc
import SystemPackage
import TestKit
import Testing

/// Saves through a mount while something of git's is unfinished: passdir keeps them, and goes on when it has ended, at once,
/// however long commits gather.
@Suite struct UnfinishedWorkTests {
    private func withStore(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            try store.insert("s", "old\n")
            for number in 1...2 { try store.git("commit", "-q", "--allow-empty", "-m", "\(number)") }
            try store.git("push", "-q")
            try home.configure(["commit.delay": "3600s"])
            try home.addStores([store])
            try home.mount()
            #expect(try home.passdir("sync").exitCode == 0)
            try body(home, store)
            try home.unmount()
        }
    }

    private func stop(_ home: TestHome, _ store: TestStore) throws {
        try home.succeed(
            ["git", "rebase", "-q", "-i", "HEAD~2"], in: store.path,
            extra: ["GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"])
        try home.waitUntil("passdir has seen it", limit: .seconds(120)) {
            try home.status().store("work").state != "ready"
        }
    }

    /// Saves, and waits until git could not take it back any more.
    private func save(_ text: String, _ home: TestHome, _ store: TestStore) throws {
        try FileCalls.save(Array(text.utf8), to: home.visible("work/s"))
        let blob = try store.git("hash-object", "s.gpg")
        try home.waitUntil("\(text) is kept", limit: .seconds(120)) {
            try home.run(
                ["git", "rev-parse", "-q", "--verify", "refs/passdir/waiting:s.gpg"], in: store.path
            ).output.hasPrefix(blob)
        }
    }

    /// Holds:
    /// - What was saved during a rebase that is aborted stays beside the secret, committed and pushed.
    @Test func theEndIsSeenAtOnce() throws {
        try withStore { home, store in
            try stop(home, store)
            try save("one\n", home, store)
            try save("two\n", home, store)
            try store.git("rebase", "--abort")
            try home.waitUntil("it is kept beside it, and pushed", limit: .seconds(120)) {
                try store.remoteGit("ls-tree", "--name-only", "main").contains("s.conflict-")
            }
            let name = try #require(
                try store.git("ls-files").split(separator: "\n").first { $0.hasPrefix("s.conflict-") })
            #expect(try store.show(String(name.dropLast(4))) == Array("two\n".utf8))
            #expect(try store.show("s") == Array("old\n".utf8))
            try home.waitUntil("nothing waits", limit: .seconds(120)) {
                try home.status().store("work").state == "ready"
            }
        }
    }

    /// Holds:
    /// - A secret that is saved again right after a rebase was aborted hides nothing of what was saved during it.
    @Test(.slow) func aSaveRightAfterTheEndHidesNone() throws {
        try withStore { home, store in
            for round in 1...3 {
                try stop(home, store)
                try save("during \(round)\n", home, store)
                try store.git("rebase", "--abort")
                try FileCalls.save(Array("after \(round)\n".utf8), to: home.visible("work/s"))
                let synced = try home.passdir("sync")
                #expect(synced.exitCode == 0, "\(synced.output)\(synced.errors)")
                let names = try store.git("ls-files").split(separator: "\n").filter { $0.hasPrefix("s.") }
                let texts = try names.map {
                    String(decoding: try store.show(String($0.dropLast(4))), as: UTF8.self)
                }
                #expect(
                    Set(texts) == Set((1...round).map { "during \($0)\n" } + ["after \(round)\n"]), "\(texts)"
                )
            }
        }
    }
}
