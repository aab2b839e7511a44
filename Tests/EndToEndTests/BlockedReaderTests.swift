import Glibc
import SystemPackage
import TestKit
import Testing

/// Who waits for a passphrase blocks nobody else, and Ctrl-C ends the wait.
@Suite struct BlockedReaderTests {
    /// A store in which `locked/…` needs a passphrase and `open/…` does not.
    private func mounted(
        _ home: TestHome, locked: Int, _ body: (TestStore, TestPinentry) throws -> Void
    ) throws {
        let open = try home.makeKey("open@example.org")
        let key = try home.makeKey("locked@example.org", passphrase: "correct horse")
        let store = try home.makeStore("work", recipients: [open])
        try FileCalls.makeDirectory(store.path.appending("locked"))
        try home.write(key.fingerprint + "\n", to: "work/locked/.gpg-id")
        for number in 0..<locked { try store.insert("locked/s\(number)", "locked \(number)\n") }
        for number in 0..<10 { try store.insert("open/s\(number)", "open \(number)\n") }
        let pinentry = try home.usePinentry(.block("correct horse"))
        try home.addStores([store])
        try home.mount()
        // Whatever happens, nobody must wait for an answer that never comes.
        defer { try? pinentry.release() }
        try body(store, pinentry)
        try home.unmount()
    }

    /// Readers of another key, writers of every key and lookers go on; each within a bound that a waiting prompt
    /// would exceed by far.
    private func expectOthersGoOn(_ home: TestHome, _ store: TestStore) throws {
        for number in 0..<10 {
            let reading = try home.run(
                ["cat", home.visible("work/open/s\(number)").string], limit: .seconds(20))
            #expect(reading.output == "open \(number)\n")
        }
        for name in ["open/new", "locked/new"] {
            let file = home.visible("work/\(name)").string
            try home.succeed(["sh", "-c", "echo saved > '\(file)'"], limit: .seconds(20))
            #expect(FileCalls.exists(store.path.pushing(FilePath(name + ".gpg"))))
        }
        try home.succeed(["ls", "-lR", home.mountPoint.string], limit: .seconds(20))
        try home.succeed(["passdir", "status"], limit: .seconds(20))
    }

    /// Holds:
    /// - An open that waits for a passphrase blocks no other reader, writer or looker, however many wait.
    @Test func aBlockedReaderLeavesTheOthersRunning() throws {
        try TestHome.guarded { home in
            try mounted(home, locked: 1) { store, pinentry in
                let blocked = try home.start(["cat", home.visible("work/locked/s0").string])
                try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
                try expectOthersGoOn(home, store)
                #expect(!blocked.hasEnded)
                try pinentry.release()
                #expect(try blocked.wait(limit: .seconds(20)).output == "locked 0\n")
            }
        }
    }

    /// Holds:
    /// - A signal, such as that of Ctrl-C, ends an open that waits for a person: EINTR. A wait of more than a second is
    ///   taken for one; a signal that comes earlier ends it then. One that ends the program ends the wait at once.
    ///   Others who wait for the same secret go on waiting.
    @Test(.slow) func interruptionEndsTheWaitWithEINTR() throws {
        try TestHome.guarded { home in
            try mounted(home, locked: 2) { store, pinentry in
                // Handles the signal, so that it lives to see the error of its open.
                let script = """
                    $SIG{INT} = sub {};
                    open(my $file, "<", $ARGV[0]) and exit 0;
                    print $!{EINTR} ? "EINTR" : $!; exit 1
                    """
                let blocked = try home.start(["perl", "-e", script, home.visible("work/locked/s0").string])
                try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
                blocked.signal(SIGINT)
                let result = try blocked.wait(limit: .seconds(20))
                #expect(!result.timedOut && result.output == "EINTR")

                // Ctrl-C on a program that does not handle it. gpg-agent keeps the first prompt open and asks no
                // second question meanwhile: only the kernel tells when the program waits.
                let killed = try home.start(["cat", home.visible("work/locked/s1").string])
                try home.waitUntilBlocked(killed)
                #expect(!killed.hasEnded)
                killed.signal(SIGINT)
                #expect(try killed.wait(limit: .seconds(20)).exitCode == 128 + SIGINT)

                // Of two who wait for the same secret, one is interrupted; the other one goes on to wait.
                let first = try home.start(["perl", "-e", script, home.visible("work/locked/s0").string])
                let second = try home.start(["cat", home.visible("work/locked/s0").string])
                try home.waitUntilBlocked(first)
                try home.waitUntilBlocked(second)
                first.signal(SIGINT)
                #expect(try first.wait(limit: .seconds(20)).output == "EINTR")
                #expect(!second.hasEnded)
                try pinentry.release()
                #expect(try second.wait(limit: .seconds(30)).output == "locked 0\n")
            }
        }
    }

    /// gpg-agent answers nobody while a prompt for the key is open, whoever opened it.
    @Test(.slow) func aRenameWaitsForNobodysPrompt() throws {
        try TestHome.guarded { home in
            try mounted(home, locked: 2) { store, pinentry in
                let foreign = try home.start(["gpg", "--decrypt", store.path.pushing("locked/s0.gpg").string])
                try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
                let secret = home.visible("work/locked/s1").string
                let script = "print rename($ARGV[0], $ARGV[1]) ? 'renamed' : $!{EXDEV} ? 'EXDEV' : $!"
                let renaming = try home.run(
                    ["perl", "-e", script, secret, secret + "~"], limit: .seconds(20))
                #expect(renaming.output == "EXDEV")
                try expectOthersGoOn(home, store)
                try pinentry.release()
                #expect(try foreign.wait(limit: .seconds(20)).exitCode == 0)
            }
        }
    }

    @Test(.slow) func manyBlockedReadersLeaveOtherKeysReadable() throws {
        try TestHome.guarded { home in
            try mounted(home, locked: 8) { store, pinentry in
                let blocked = try (0..<8).map { number in
                    try home.start(["cat", home.visible("work/locked/s\(number)").string])
                }
                try home.waitUntil("the first prompt") { pinentry.promptCount() >= 1 }
                try expectOthersGoOn(home, store)
                #expect(blocked.allSatisfy { !$0.hasEnded })
                try pinentry.release()
                for (number, reader) in blocked.enumerated() {
                    #expect(try reader.wait(limit: .seconds(40)).output == "locked \(number)\n")
                }
            }
        }
    }
}
