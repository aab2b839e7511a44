import SystemPackage
import TestKit
import Testing

/// Looking at names, sizes and times asks for no passphrase and decrypts nothing.
@Suite struct LookingTests {
    /// Holds:
    /// - Listing directories and asking for attributes decrypt nothing and prompt for nothing.
    @Test func lookingPromptsForNothing() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org", passphrase: "correct horse")
            let store = try home.makeStore("work", recipients: [key])
            for name in ["mail/imap", "mail/smtp", "web/a/b/c", "top"] {
                try store.insert(name, "secret of \(name)\n")
            }
            let pinentry = try home.usePinentry(.cancel)
            try home.addStores([store])
            try home.mount()

            let listing = String(
                decoding: try home.succeed(["ls", "-lR", home.mountPoint.string], limit: .seconds(20)),
                as: UTF8.self)
            #expect(listing.contains("imap") && listing.contains("top"))
            let found = String(
                decoding: try home.succeed(
                    ["find", home.mountPoint.string, "-type", "f", "-size", "+0", "-newermt", "2000-01-01"],
                    limit: .seconds(20)), as: UTF8.self)
            #expect(
                found.split(separator: "\n").count == 6, "four secrets, .gpg-id, .gitattributes: \(found)")
            let size = try home.succeed(
                ["stat", "--format=%s", home.visible("work/mail/imap").string], limit: .seconds(20))
            #expect(String(decoding: size, as: UTF8.self) == "\("secret of mail/imap\n".utf8.count)\n")
            try home.succeed(["du", "-a", "--apparent-size", home.mountPoint.string], limit: .seconds(20))
            try home.succeed(["test", "-s", home.visible("work/top").string], limit: .seconds(20))
            for name in ["recipients", "store", "backing", "encrypted-size", "state"] {
                try home.succeed(
                    ["getfattr", "-n", "user.passdir.\(name)", home.visible("work/top").string],
                    limit: .seconds(20))
            }
            #expect(pinentry.promptCount() == 0)

            // The prompts are counted: an open does ask.
            let reading = try home.run(["cat", home.visible("work/mail/imap").string], limit: .seconds(30))
            #expect(reading.exitCode != 0)
            #expect(pinentry.promptCount() >= 1)
            try home.unmount()
        }
    }
}
