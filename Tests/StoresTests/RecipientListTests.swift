import Glibc
import OpenPGP
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// Whom a secret is encrypted to: which `.gpg-id` applies, what its lines mean, whether it is signed.
@Suite struct RecipientListTests {
    /// A store in a home with two keys, opened in this process.
    private struct Fixture {
        let home: TestHome
        let folder: FilePath
        let ann: TestKey
        let bob: TestKey

        init(_ home: TestHome) throws {
            self.home = home
            ann = try home.makeKey("ann@example.org")
            bob = try home.makeKey("bob@example.org")
            folder = home.path("store")
            try home.succeed([
                "mkdir", "-p", folder.appending("sub/deep").string, folder.appending("other").string,
            ])
        }

        func store(_ environment: [String: String] = [:], trust: TrustModel = .always) throws -> Store {
            var options = Store.Options(
                secretLimit: 1 << 20, promptTimeout: .seconds(20), environment: environment)
            options.trust = trust
            options.changes = home.path("changes")
            return Store(
                name: "store", identifier: "test", root: try Root(path: folder),
                engine: OpenPGPEngine(home: home.path("gnupg")), options: options, learned: nil)
        }

        func write(_ text: String, _ path: String = ".gpg-id") throws {
            try home.write(text, to: "store/\(path)")
        }

        func fingerprints(_ secret: String, _ environment: [String: String] = [:]) throws -> [String] {
            try store(environment).recipients(for: FilePath(secret)).recipients.map(
                \.key.fingerprint.description)
        }
    }

    @Test(.slow) func theNearestFileWins() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            let (ann, bob) = (fixture.ann.fingerprint, fixture.bob.fingerprint)
            try fixture.write("\(ann)\n")
            try fixture.write("\(bob)\n", "sub/.gpg-id")
            #expect(try fixture.fingerprints("a.gpg") == [ann])
            #expect(try fixture.fingerprints("other/a.gpg") == [ann])
            #expect(try fixture.fingerprints("sub/a.gpg") == [bob])
            #expect(try fixture.fingerprints("sub/deep/a.gpg") == [bob])
            #expect(try fixture.fingerprints("sub/gone/a.gpg") == [bob])
            // As pass's -f: a folder of that name is no such file.
            try home.succeed(["mkdir", fixture.folder.appending("other/.gpg-id").string])
            #expect(try fixture.fingerprints("other/a.gpg") == [ann])
            #expect(
                try fixture.fingerprints("sub/a.gpg", ["PASSWORD_STORE_KEY": "\(ann) \(bob)"]) == [ann, bob])
            // A link could name anybody: it is refused, not passed over.
            try home.succeed([
                "ln", "-s", "../sub/.gpg-id", fixture.folder.appending("sub/deep/.gpg-id").string,
            ])
            #expect(throws: StoreError.self) { try fixture.fingerprints("sub/deep/a.gpg") }
        }
    }

    @Test(.slow) func linesAreEveryKindOfName() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            let (ann, bob) = (fixture.ann.fingerprint, fixture.bob.fingerprint)
            try home.write("group team = \(ann) bob@example.org\n", to: "gnupg/gpg.conf")
            let names = [
                ann, "0x" + ann, String(ann.suffix(16)), "0x" + ann.suffix(16), String(ann.suffix(8)),
                ann.lowercased(), "ann@example.org", "<ann@example.org>", "ann <ann@example.org>",
                "=ann <ann@example.org>",
            ]
            for name in names {
                try fixture.write("# a comment\r\n\r\n  \(name)  # of ann\r\n")
                #expect(try fixture.fingerprints("a.gpg") == [ann], "\(name)")
            }
            try fixture.write("team\n")
            #expect(Set(try fixture.fingerprints("a.gpg")) == [ann, bob])
            // Each key once, however often it is named.
            try fixture.write("team\nann@example.org\n\(ann)\n")
            #expect(try fixture.fingerprints("a.gpg").count == 2)
            let subkey = try #require(
                fixture.store().recipients(for: "a.gpg").recipients.first?.key.subkeys.last?.fingerprint)
            try fixture.write("\(subkey)!\n")
            #expect(try fixture.store().recipients(for: "a.gpg").recipients.first?.subkey == subkey)
        }
    }

    @Test func anUnknownNameFailsByName() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            try fixture.write("\(fixture.ann.fingerprint)\nnobody@example.org\n")
            let error = #expect(throws: StoreError.self) { try fixture.fingerprints("a.gpg") }
            #expect(error?.code == .openPGP(.missingKey))
            #expect(error?.message.contains("nobody@example.org") == true)
            for (text, words) in [("# nobody\n", "names nobody"), ("", "names nobody")] {
                try fixture.write(text)
                let error = #expect(throws: StoreError.self) { try fixture.fingerprints("a.gpg") }
                #expect(error?.message.contains(words) == true)
            }
        }
    }

    @Test(.slow) func eachUnusableKeyHasItsOwnError() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            let expired = try home.makeExpiredKey("old@example.org")
            let revoked = try home.makeRevokedKey("gone@example.org")
            try home.succeed([
                "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                "sign <sign@example.org>", "ed25519", "sign", "never",
            ])
            for (name, code) in [
                (expired.fingerprint, OpenPGPError.Code.expiredKey), (revoked.fingerprint, .revokedKey),
                ("sign@example.org", .notForEncryption), ("nobody@example.org", .missingKey),
            ] {
                try fixture.write("\(fixture.ann.fingerprint)\n\(name)\n")
                let store = try fixture.store()
                let error = #expect(throws: StoreError.self, "\(name)") {
                    try store.change(
                        of: FilePath(), to: RecipientFile(lines: [fixture.ann.fingerprint, name]))
                }
                #expect(error?.code == .openPGP(code), "\(name)")
            }
        }
    }

    @Test func gpgsTrustModelCountsWhereItIsAskedFor() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            // A key that came from elsewhere: nobody vouches for it.
            let other = home.path("other-home")
            try home.succeed(["mkdir", "-m", "700", other.string])
            try home.succeed(
                [
                    "gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                    "cyd <cyd@example.org>", "future-default", "default", "never",
                ], extra: ["GNUPGHOME": other.string])
            let key = try home.succeed(
                ["gpg", "--export", "cyd@example.org"], extra: ["GNUPGHOME": other.string])
            try home.succeed(["gpgconf", "--kill", "all"], extra: ["GNUPGHOME": other.string])
            try home.succeed(["gpg", "--batch", "--import"], input: key)
            let file = RecipientFile(lines: ["cyd@example.org"])
            #expect(try fixture.store().change(of: FilePath(), to: file).after.count == 1)
            let error = #expect(throws: StoreError.self) {
                try fixture.store(trust: .gpg).change(of: FilePath(), to: file)
            }
            #expect(error?.code == .openPGP(.untrustedKey))
            try home.succeed([
                "gpg", "--batch", "--quick-lsign-key",
                String(
                    decoding: try home.succeed([
                        "sh", "-c",
                        "gpg --with-colons --list-keys cyd@example.org | sed -n 's/^fpr:*\\([^:]*\\):/\\1/p' | head -1",
                    ]), as: UTF8.self
                ).split(separator: "\n").joined(),
            ])
            #expect(try fixture.store(trust: .gpg).change(of: FilePath(), to: file).after.count == 1)
        }
    }

    @Test(.slow) func signaturesOfPassAndOursAreTheSame() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            let (ann, bob) = (fixture.ann.fingerprint, fixture.bob.fingerprint)
            let signing = ["PASSWORD_STORE_SIGNING_KEY": ann]
            var forPass = signing
            forPass["PASSWORD_STORE_DIR"] = fixture.folder.string
            // pass signs, we verify.
            try home.succeed(["pass", "init", ann, bob], extra: forPass)
            #expect(try fixture.fingerprints("a.gpg", signing) == [ann, bob])
            let wrong = #expect(throws: StoreError.self) {
                try fixture.fingerprints("a.gpg", ["PASSWORD_STORE_SIGNING_KEY": bob])
            }
            #expect(wrong?.code == .badSignature)
            #expect(wrong?.message.contains(ann) == true && wrong?.message.contains(bob) == true)
            try fixture.write("\(ann)\n")
            let tampered = #expect(throws: StoreError.self) { try fixture.fingerprints("a.gpg", signing) }
            #expect(tampered?.code == .badSignature)
            // Nothing is encrypted then.
            let store = try fixture.store(signing)
            let bytes = try [UInt8]("x".utf8).withUnsafeBytes { try SecretBytes(copying: $0) }
            #expect(throws: StoreError.self) { try store.stage(bytes, for: "a.gpg") }
            #expect(try home.succeed(["ls", "-A", fixture.folder.string]).isEmpty == false)

            // We sign, pass verifies.
            try home.succeed([
                "rm", fixture.folder.appending(".gpg-id").string,
                fixture.folder.appending(".gpg-id.sig").string,
            ])
            let change = try store.change(of: FilePath(), to: RecipientFile(lines: [bob]))
            try Reencryption.begin(change, in: store, accepting: [], skipsUnreadable: false).run {
                _, _ throws(StoreError) in
            }
            #expect(try fixture.fingerprints("a.gpg", signing) == [bob])
            try home.succeed(["pass", "insert", "-m", "b"], input: [1], extra: forPass)
            try fixture.write("\(ann)\n")
            let refused = try home.run(["pass", "insert", "-m", "c"], input: [1], extra: forPass)
            #expect(refused.exitCode != 0 && refused.errors.contains("invalid"))
        }
    }

    /// What is saved in the very moment in which a change looks for what came meanwhile did not come from others.
    @Test func whatIsSavedAtThatMomentIsNotFromOthers() throws {
        try TestHome.with { home in
            let fixture = try Fixture(home)
            try fixture.write("\(fixture.ann.fingerprint)\n")
            let store = try fixture.store()
            try fixture.write("no message", "a.gpg")
            let change = try store.change(
                of: FilePath(), to: RecipientFile(lines: [fixture.ann.fingerprint, fixture.bob.fingerprint]))
            let isOver = Atomic(false)
            let saver = Background {
                while !isOver.load(ordering: .relaxed) {
                    try? home.write("no message", to: "next")
                    _ = rename(home.path("next").string, fixture.folder.appending("a.gpg").string)
                }
            }
            defer {
                isOver.store(true, ordering: .relaxed)
                _ = try? saver.value()
            }
            for _ in 0..<300 { try store.checkCurrent(change.basis, of: FilePath()) }
        }
    }
}
