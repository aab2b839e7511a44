import Glibc
import SystemPackage
import TestKit
import Testing

/// Who encrypts what is saved through the mount.
@Suite struct EncryptionTests {
    /// What follows the session key packet of a message to one Curve25519 key: the packet of the secret, and the first
    /// octet of its length. gpg, which reads from a pipe, writes lengths of parts.
    private func isWrittenByGpg(_ message: [UInt8]) throws -> Bool {
        try #require(message.count > 5000 && message[0] == 0x84 && message[1] == 94 && message[96] == 0xd2)
        return (224..<255).contains(message[97])
    }

    @Test(.slow, arguments: [("auto", false), ("gpg", true)])
    func theSettingSaysWhoEncrypts(engine: String, isGpg: Bool) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.configure(["openpgp.engine": engine])
            try home.addStores([store])
            try home.mount()
            let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5000)
            try FileCalls.save(text, to: home.visible("work/large"))
            #expect(try isWrittenByGpg(home.bytes(of: "work/large.gpg")) == isGpg)
            #expect(try store.show("large") == text)
            try home.unmount()
        }
    }

    /// Whatever happens to the keyring while the mount runs counts at the next save, although nothing asks gpg.
    @Test(.slow) func theKeyringOfTheMomentCounts() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try home.addStores([store])
            try home.mount()
            func save() throws {
                let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5000)
                try FileCalls.save(text, to: home.visible("work/large"))
            }
            try save()
            #expect(try !isWrittenByGpg(home.bytes(of: "work/large.gpg")))
            let before = try store.recipientKeyIDs(of: "large")
            // Of two subkeys made in the same second neither is the newer one.
            let made = time(nil)
            while time(nil) <= made { usleep(20_000) }
            try home.succeed([
                "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key",
                key.fingerprint, "cv25519", "encr", "never",
            ])
            try save()
            let after = try store.recipientKeyIDs(of: "large")
            #expect(after.count == 1 && after != before)
            try home.write("throw-keyids\n", to: "gnupg/gpg.conf")
            try save()
            #expect(try isWrittenByGpg(home.bytes(of: "work/large.gpg")))
            try home.write("", to: "gnupg/gpg.conf")
            try home.succeed(["gpg", "--batch", "--quick-set-expire", key.fingerprint, "seconds=1"])
            try home.waitUntil("the key has run out, and says so") {
                do {
                    try save()
                    return false
                } catch { return error as? Errno == Errno(rawValue: 127) }
            }
            try home.succeed(["gpg", "--batch", "--quick-set-expire", key.fingerprint, "0"])
            try save()
            #expect(try !isWrittenByGpg(home.bytes(of: "work/large.gpg")))
            try home.unmount()
        }
    }
}
