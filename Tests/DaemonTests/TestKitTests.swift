import Glibc
import SystemPackage
import Testing

@testable import TestKit

/// The test kit itself: it must fail a test that leaves something behind, and give what it promises.
@Suite struct TestKitTests {
    @Test func aProcessLeftBehindFails() throws {
        let home = try TestHome()
        let program = try home.start(["sleep", "300"])
        let error = #expect(throws: TestFailure.self) { try home.close() }
        #expect(error?.description.contains("sleep 300") == true)
        #expect(try program.wait(limit: .seconds(10)).exitCode == 128 + SIGKILL)
    }

    @Test func nothingLeftBehindPasses() throws {
        let home = try TestHome()
        try home.makeKey("a@example.org")
        try home.close()
        #expect(EndedHomes.hold(home.folder))
    }

    @Test func aProgramThatHangsIsEndedWithItsChildren() throws {
        try TestHome.with { home in
            let result = try home.run(["sh", "-c", "sleep 300 & echo $!; wait"], limit: .milliseconds(500))
            #expect(result.timedOut)
            let child = try #require(pid_t(result.output.dropLast()))
            try home.waitUntil("the child is gone") { kill(child, 0) != 0 }
        }
    }

    @Test func programsGetBytesAndSeeNothingOfTheUser() throws {
        try TestHome.with { home in
            let bytes: [UInt8] = [0, 255, 10, 13, 0]
            #expect(try home.succeed(["cat"], input: bytes) == bytes)
            let names = String(decoding: try home.succeed(["env"]), as: UTF8.self).split(separator: "\n")
            #expect(names.allSatisfy { !$0.hasPrefix("GIT_DIR") && !$0.hasPrefix("PASSWORD_STORE") })
            #expect(names.contains("HOME=\(home.folder)"))
        }
    }

    @Test func storesAreMadeByPass() throws {
        try TestHome.with { home in
            let first = try home.makeKey("a@example.org")
            let second = try home.makeKey("b@example.org")
            #expect(first.fingerprint.count == 40 && first.fingerprint != second.fingerprint)
            let store = try home.makeStore("work", recipients: [first, second], remote: true)
            try store.insert("mail/imap", "secret")
            #expect(try store.show("mail/imap") == Array("secret".utf8))
            #expect(try store.recipientKeyIDs(of: "mail/imap").count == 2)
            #expect(try store.git("log", "-1", "--format=%s") == "Add given password for mail/imap to store.")
            try store.git("push", "--quiet")
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }

    @Test func keysExpireAndAreRevoked() throws {
        try TestHome.with { home in
            let keys = [
                try home.makeExpiredKey("old@example.org"), try home.makeRevokedKey("revoked@example.org"),
            ]
            for (key, mark) in zip(keys, ["e", "r"]) {
                let listing = try home.succeed([
                    "gpg", "--batch", "--with-colons", "--list-keys", key.fingerprint,
                ])
                let lines = String(decoding: listing, as: UTF8.self).split(separator: "\n")
                #expect(lines.contains { $0.hasPrefix("pub:\(mark):") })
                #expect(
                    try home.run(["gpg", "--batch", "-e", "-r", key.fingerprint], input: [1]).exitCode != 0)
            }
        }
    }

    @Test func thePinentryAnswersCancelsAndBlocks() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org", passphrase: "open sesame")
            let secret = try home.succeed(["gpg", "--batch", "-e", "-r", key.fingerprint], input: [7])
            var pinentry = try home.usePinentry(.cancel)
            #expect(try home.run(["gpg", "--batch", "-d"], input: secret).exitCode != 0)
            #expect(pinentry.promptCount() == 1)
            pinentry = try home.usePinentry(.answer("open sesame"))
            #expect(try home.succeed(["gpg", "--batch", "-d"], input: secret) == [7])
            #expect(pinentry.promptCount() == 2)
            pinentry = try home.usePinentry(.block("open sesame"))
            let waiting = try home.start(["gpg", "--batch", "-d"], input: secret)
            try home.waitUntil("the question") { pinentry.promptCount() == 3 }
            #expect(!waiting.hasEnded)
            try pinentry.release()
            #expect(try waiting.wait(limit: .seconds(20)).standardOutput == [7])
        }
    }
}
