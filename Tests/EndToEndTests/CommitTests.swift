import Glibc
import SystemPackage
import TestKit
import Testing

/// Commits beside those of other programs, and after crashes.
@Suite struct CommitTests {
    private func prepared(
        _ settings: [String: String], _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try home.configure(settings)
            try home.addStores([store])
            try body(home, store)
        }
    }

    /// Holds:
    /// - What a crash left uncommitted is committed and pushed by the next mount, even by one that is ended at once.
    @Test(.slow) func aMountThatEndsAtOnceCommitsWhatACrashLeft() throws {
        try prepared(["commit.delay": "1h"]) { home, store in
            try home.mount()
            try FileCalls.save([1], to: home.visible("work/new"))
            try FileCalls.makeDirectory(home.visible("work/folder"))
            try FileCalls.save([2], to: home.visible("work/folder/deep"))
            try home.killDaemon()
            #expect(try !store.git("status", "--porcelain").isEmpty)
            try home.mount()
            try home.unmount()
            #expect(try store.git("status", "--porcelain").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }

    /// Holds:
    /// - A lock that another git program holds delays commits, not saves; they are made when it is gone.
    @Test(.slow) func aLockOfGitsDelaysCommitsOnly() throws {
        try prepared(["commit.delay": "50ms"]) { home, store in
            try home.mount()
            let head = try store.git("rev-parse", "HEAD")
            let branch = store.path.appending(".git/refs/heads/main.lock")
            try FileCalls.save([], to: branch)
            try FileCalls.save([1], to: home.visible("work/s"))
            #expect(try store.show("s") == [1])
            try home.waitUntil("status tells") {
                try home.status().store("work").lastError?.contains("lock") == true
            }
            #expect(try store.git("rev-parse", "HEAD") == head)
            try FileCalls.unlink(branch)
            try home.waitUntilCommitted(store)
            #expect(try home.status().store("work").lastError == nil)
            try home.unmount()
        }
    }

    /// Holds:
    /// - `pass` and the mount may save to the same store at the same time: nothing is lost, and what a lock kept one
    ///   of them from committing is committed by the next mount at the latest.
    @Test(.slow) func passAndTheMountSaveAtTheSameTime() throws {
        try prepared(["commit.delay": "20ms"]) { home, store in
            try home.mount()
            let count = Soak.count(inSuite: 8)
            let byPass = Background {
                for number in 0..<count {
                    _ = try home.run(
                        ["pass", "insert", "--multiline", "--force", "both/pass\(number)"],
                        input: Array("pass \(number)".utf8), extra: ["PASSWORD_STORE_DIR": store.path.string])
                }
            }
            try FileCalls.ensureDirectory(home.visible("work/both"))
            for number in 0..<(count * 4) {
                try FileCalls.save(
                    Array("mount \(number)".utf8), to: home.visible("work/both/mount\(number)"))
                usleep(10_000)
            }
            guard try byPass.value(within: .seconds(Int64(60 + count))) != nil else {
                throw TestFailure("pass hangs")
            }
            for number in 0..<count {
                #expect(
                    try FileCalls.read(home.visible("work/both/pass\(number)"))
                        == Array("pass \(number)".utf8))
            }
            for number in 0..<(count * 4) {
                #expect(try store.show("both/mount\(number)") == Array("mount \(number)".utf8))
            }
            try home.unmount()
            try home.mount()
            try home.waitUntilCommitted(store)
            try home.unmount()
            try store.git("fsck", "--strict", "--full")
            try store.git("update-index", "--really-refresh")
            #expect(try store.git("diff", "HEAD", "--name-only").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }
}
