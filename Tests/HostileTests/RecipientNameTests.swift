import Glibc
import OpenPGP
import Stores
import System
import SystemPackage
import TestKit
import Testing

/// What the lines of a `.gpg-id` mean: what pass takes them for, and nobody who only has the same address.
@Suite struct RecipientNameTests {
    /// Bytes around and between two keys; `A` and `B` stand for fingerprints. What is refused by pass or by gpg is refused
    /// here, or, where it says so, read as it is meant.
    @Test(
        arguments: sampled([
            ("A\u{85}B\n", false), ("A\u{2028}B\n", false), ("A\u{2029}B\n", false), ("A\u{0B}B\n", false),
            ("A\u{0C}B\n", false),
            ("A\rB\n", false), ("A\u{A0}\n", false), ("\u{A0}A\n", false), ("A\u{2003}B\n", false),
            ("A\u{0B}\n", false),
            ("\u{0C}A\n", false), ("\u{FEFF}A\n", false), ("\rA\n", false), ("A\0B\n", false),
            ("A\0\n", true),
            ("A\r\n", true),
            ("  A\t\nB\n", false), ("A # B\n", false), ("A#B\nB\n", false), ("# A\u{85}B\nA\n", false),
            ("# A\u{2028}B\nB\n", false), ("# A\rB\nA\n", false), ("#\u{0B}B\nA\n", false),
            ("A\n\n\tB #\n", false), ("A", true),
        ]))
    func aLineMeansWhatItMeansToPass(_ text: String, _ mayDiffer: Bool) throws {
        try TestHome.with { home in
            let keys = try ["ann", "bob"].map { try home.makeKey("\($0)@example.org") }
            let store = try home.makeStore("work", recipients: [keys[0]], git: false)
            let list = text.replacing("A", with: keys[0].fingerprint).replacing(
                "B", with: keys[1].fingerprint)
            try home.write(list, to: "work/.gpg-id")
            let pass = try home.run(
                ["pass", "insert", "--multiline", "--force", "a"], input: [1],
                extra: ["PASSWORD_STORE_DIR": store.path.string])
            var theirs: Set<String>?
            if pass.exitCode == 0 { theirs = try store.recipientKeyIDs(of: "a") }
            let opened = Store(
                name: "work", identifier: "work", root: try Root(path: store.path),
                engine: OpenPGPEngine(home: home.path("gnupg")),
                options: Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(20)), learned: nil)
            var ours: Set<String>?
            let bytes = try SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
            do throws(StoreError) {
                try opened.write(bytes, to: "b.gpg")
                ours = try? store.recipientKeyIDs(of: "b")
            } catch {
                // As pass, which wrote nothing.
            }
            if mayDiffer {
                // Never more than what is there to be seen.
                #expect(ours?.count ?? 0 <= 1)
            } else {
                #expect(ours == theirs, "\(text.debugDescription) \(pass.errors)")
            }
        }
    }

    /// Eve makes a key with Bob's address.
    ///
    /// Holds:
    /// - An address that several equally valid keys carry names no recipient, and no secret key is imported.
    @Test(
        .slow,
        arguments: [
            "bob@example.org", "<bob@example.org>", "bob <bob@example.org>", "=bob <bob@example.org>",
        ])
    func anAddressOfTwoKeysNamesNobody(_ name: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            let twin = try home.makeTwin(of: "bob@example.org")
            let result = try shared.run(["recipients", "add", "work", name])
            #expect(result.exitCode == 1)
            #expect(
                result.errors.contains(shared.bob.fingerprint) && result.errors.contains(twin),
                "\(result.errors)")
            #expect(try shared.secrets(for: shared.bob) == [])
            // Bob's own key was signed: gpg holds it for his.
            try home.succeed(
                [
                    "gpg", "--batch", "--yes", "--default-key", shared.ann.fingerprint, "--quick-lsign-key",
                    shared.bob.fingerprint,
                ])
            let added = try shared.run(["recipients", "add", "work", "bob@example.org", "--yes"])
            #expect(
                added.exitCode == 0
                    && added.output.contains("+ bob <bob@example.org> (\(shared.bob.fingerprint))"))
            #expect(try shared.secrets(for: shared.bob).count == 2)
        }
    }

    @Test(.slow, arguments: sampled(["a file", "standard input", "the store"]))
    func anImportSaysHowAKeyIsNamed(_ source: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            try shared.push("printf '%s\\n' $ANN bob@example.org >.gpg-id")
            let twin = try home.makeTwin(of: "bob@example.org")
            let key = try home.succeed(["gpg", "--batch", "--armor", "--export", twin])
            try home.write(String(decoding: key, as: UTF8.self), to: "twin.asc")
            try home.succeed(["gpg", "--batch", "--yes", "--delete-keys", twin])
            let result: ProgramResult
            switch source {
            case "a file":
                result = try shared.run(["keys", "import", home.path("twin.asc").string, "--dry-run"])
            case "standard input":
                result = try shared.run(
                    ["keys", "import", "-", "--dry-run"], input: String(decoding: key, as: UTF8.self))
            default:
                try home.succeed(["sh", "-c", "mkdir work/.public-keys && cp twin.asc work/.public-keys/"])
                result = try shared.run(["keys", "import", "work", "--dry-run"])
            }
            #expect(
                result.output.contains(twin) && result.output.contains("has an address"),
                "\(result.output)")
            #expect(!result.output.contains("named in .gpg-id"))
        }
    }

    @Test(
        .slow,
        arguments: sampled([
            "gpg --batch --armor --export-secret-keys $ANN", "gpg --batch --export-secret-keys $ANN",
            "gpg --batch --export-secret-subkeys $ANN",
            "gpg --batch --armor --export $BOB; gpg --batch --armor --export-secret-keys $ANN",
            "gpg --batch --export $BOB; gpg --batch --export-secret-keys $ANN",
            "gpg --batch --export-secret-keys $ANN | gpg --enarmor | sed 's/ARMORED FILE/PUBLIC KEY BLOCK/'",
            "echo hello; gpg --batch --armor --export-secret-keys $ANN",
            "gpg --batch --armor --export-secret-keys $ANN | sed 's/$/\\r/'",
        ]))
    func secretKeysAreNotImported(_ script: String) throws {
        try SharedStore.with { shared in
            let home = shared.home
            let bytes = try home.succeed(
                ["sh", "-c", script], extra: ["ANN": shared.ann.fingerprint, "BOB": shared.bob.fingerprint])
            try #require(bytes.count > 200)
            try home.succeed(["mkdir", "-m", "700", "empty"])
            let elsewhere = ["GNUPGHOME": home.path("empty").string]
            defer { _ = try? home.run(["gpgconf", "--kill", "all"], extra: elsewhere) }
            let result = try home.run(
                ["passdir", "keys", "import", "-", "--yes"], input: bytes, extra: elsewhere)
            #expect(
                result.exitCode == 1 && result.errors.contains("secret key"),
                "\(result.errors)\(result.output)")
            let listed = try home.run(["gpg", "--batch", "--list-keys", "--with-colons"], extra: elsewhere)
            #expect(!listed.output.contains("fpr:"))
        }
    }
}

extension TestHome {
    /// A second key with an address that another has; its secret part is not here. Gives the fingerprint.
    func makeTwin(of address: String) throws -> String {
        let name = address.split(separator: "@")[0]
        try succeed(["mkdir", "-m", "700", "twin"])
        let elsewhere = ["GNUPGHOME": path("twin").string]
        defer { _ = try? run(["gpgconf", "--kill", "all"], extra: elsewhere) }
        try succeed(
            [
                "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                "\(name) <\(address)>", "future-default", "default", "never",
            ], extra: elsewhere)
        let key = try succeed(["gpg", "--batch", "--armor", "--export"], extra: elsewhere)
        try succeed(["gpg", "--batch", "--import"], input: key)
        let listing = try succeed(["gpg", "--batch", "--with-colons", "--list-keys"], extra: elsewhere)
        let line = String(decoding: listing, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("fpr:")
        }
        return line.map { String($0.split(separator: ":", omittingEmptySubsequences: false)[9]) } ?? ""
    }
}
