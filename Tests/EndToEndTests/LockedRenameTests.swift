import Glibc
import SystemPackage
import TestKit
import Testing

/// The kernel renames under locks that others need: nothing may wait for a person meanwhile.
@Suite struct LockedRenameTests {
    /// rename(2) by a program that can be killed; gives the error number, 0 for success.
    private func rename(_ home: TestHome, _ path: String, to other: String) throws -> Int32 {
        let result = try home.run(
            ["perl", "-e", "rename($ARGV[0], $ARGV[1]) and exit 0; exit $! + 0", path, other],
            in: home.visible("work"), limit: .seconds(30))
        #expect(!result.timedOut, "\(path) to \(other)")
        return result.exitCode
    }

    /// Holds:
    /// - A rename never asks for a passphrase: where it would have to decrypt a secret whose key is locked, it is EXDEV.
    @Test func renamingNeverPrompts() throws {
        try TestHome.guarded { home in
            let locked = try home.makeKey("locked@example.org", passphrase: "correct horse")
            let open = try home.makeKey("open@example.org")
            let store = try home.makeStore("work", recipients: [locked])
            let other = try home.makeStore("other", recipients: [open])
            try FileCalls.makeDirectory(store.path.appending("shared"))
            try home.write("\(locked.fingerprint)\n\(open.fingerprint)\n", to: "work/shared/.gpg-id")
            for name in ["f", "g", "dir/h"] { try store.insert(name, "\(name)\n") }
            try other.insert("one", "first\n")
            let pinentry = try home.usePinentry(.block("correct horse"))
            defer { try? pinentry.release() }
            try home.addStores([store, other])
            try home.mount()

            #expect(try rename(home, "f", to: "shared/f") == EXDEV)
            #expect(try rename(home, "f", to: "f~") == EXDEV)
            #expect(try rename(home, "f", to: "dir/f") == 0)
            #expect(pinentry.promptCount() == 0)

            // mv(1) copies: it waits in an open, and nobody else does.
            let moving = try home.start(["mv", "dir/f", "shared/f"], in: home.visible("work"))
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            try home.succeed(["ls", "-lR"], in: home.visible("work"), limit: .seconds(30))
            try home.workEveryday(in: "other", during: "rename")
            try home.succeed(["mkdir", "sub"], in: home.visible("other"), limit: .seconds(30))
            try home.succeed(["mv", "one", "sub"], in: home.visible("other"), limit: .seconds(30))
            #expect(try rename(home, "g", to: "shared/g") == EXDEV)
            #expect(!moving.hasEnded)
            try pinentry.release()
            let moved = try moving.wait()
            #expect(moved.exitCode == 0 && moved.errors.isEmpty, "\(moved.errors)")
            #expect(try store.recipientKeyIDs(of: "shared/f").count == 2)
            #expect(try store.show("shared/f") == Array("f\n".utf8))
            #expect(!FileCalls.exists(home.visible("work/dir/f")))

            // The key is unlocked now.
            #expect(try rename(home, "g", to: "shared/g") == 0)
            #expect(try store.recipientKeyIDs(of: "shared/g").count == 2)
            #expect(try rename(home, "dir/h", to: "dir/h~") == 0)
            #expect(pinentry.promptCount() == 1)
            try home.unmount()
        }
    }
}
