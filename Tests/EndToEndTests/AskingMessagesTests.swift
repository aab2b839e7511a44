import Glibc
import SystemPackage
import TestKit
import Testing

/// Messages that name passphrases beside our key, as anybody who knows the public key can push them: gpg asks for those first.
@Suite struct AskingMessagesTests {
    /// More than a command here may take seconds.
    private static let count = 60
    /// A packet of tag 3: version 4, AES-256, S2K of the longest kind, a session key of random bytes.
    private static let passphrase =
        [0xc3, 46, 4, 9, 3, 8] + Array("saltsalt".utf8) + [0xff] + [UInt8](repeating: 7, count: 33)

    /// Holds:
    /// - Who waits for the passphrase of a message holds up no other message of the same key.
    @Test func whoIsAskedForAMessagesPassphraseHoldsNobodyElseUp() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let stores = try ["asking", "other"].map { try home.makeStore($0, recipients: [key]) }
            try stores[0].insert("plain", "text\n")
            try stores[1].insert("one", "first\n")
            let message = try FileCalls.read(stores[0].path.appending("plain.gpg"))
            func push(_ name: String, passphrases: Int) throws {
                try FileCalls.save(
                    Array(repeatElement(Self.passphrase, count: passphrases).joined()) + message,
                    to: stores[0].path.appending("\(name).gpg"))
            }
            for number in 0..<Self.count { try push("s\(number)", passphrases: 8) }
            try push("many", passphrases: 9)
            try home.succeed(
                [
                    "sh", "-c",
                    "(echo -----BEGIN PGP MESSAGE-----; echo; base64 many.gpg; echo -----END PGP MESSAGE-----) > armoured.gpg",
                ], in: stores[0].path)
            let pinentry = try home.usePinentry(.block("never"))
            defer { try? pinentry.release() }
            try home.addStores(stores)
            try home.mount()

            let readers = try (0..<Self.count).map {
                try home.start(["cat", "s\($0)"], in: home.visible("asking"))
            }
            defer { for reader in readers { reader.signal(SIGKILL) } }
            try home.waitUntil("the prompt") { pinentry.promptCount() == 1 }
            for reader in readers { try home.waitUntilBlocked(reader) }
            try home.workEveryday(in: "other", during: "messages")
            let plain = try home.succeed(["cat", "plain"], in: home.visible("asking"), limit: .seconds(30))
            #expect(plain == Array("text\n".utf8))
            for name in ["many", "armoured"] {
                let many = try home.run(["cat", name], in: home.visible("asking"), limit: .seconds(30))
                #expect(many.exitCode == 1 && many.errors.contains("Input/output error"), "\(many.errors)")
            }
            #expect(readers.allSatisfy { !$0.hasEnded })
            try pinentry.release()
            for reader in readers {
                reader.signal(SIGKILL)
                _ = try reader.wait(limit: .seconds(30))
            }
            try home.unmount()
        }
    }
}
