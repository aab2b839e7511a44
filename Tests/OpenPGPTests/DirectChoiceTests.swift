import Glibc
import SystemPackage
import Testing

@testable import OpenPGP

/// When messages are encrypted without gpg, and when gpg must do it.
@Suite struct DirectChoiceTests {
    private var now: Int64 { Int64(time(nil)) }

    func isDirect(_ engine: OpenPGPEngine, _ recipients: [Recipient], trust: TrustModel = .always) throws
        -> Bool
    {
        let message = try engine.encryptDirectly(
            secret("x"), to: recipients, trust: trust, at: Int64(time(nil)))
        return message != nil
    }

    @Test func theSharedKeysAreTakenDirectly() throws {
        let keys = try Keys.shared.get()
        let engine = try keys.home.engine
        let ann = try engine.resolve(keys.ann.description)
        #expect(try isDirect(engine, ann))
        #expect(try isDirect(engine, ann + engine.resolve(keys.bob.description)))
        #expect(try !isDirect(engine, ann, trust: .gpg))
        for other in [keys.expired, keys.revoked, keys.disabled, keys.signOnly] {
            #expect(try !isDirect(engine, ann + engine.resolve(other.description)))
        }
        let gpg = OpenPGPEngine(home: FilePath(keys.home.path), encryption: .gpg)
        #expect(try !isDirect(gpg, ann))
    }

    @Test func theSubkeyIsTheOneThatGpgTakes() throws {
        let keys = try Keys.shared.get()
        let engine = try keys.home.engine
        let named = try engine.resolve("\(keys.annOlder)!")
        let plain = try engine.resolve(keys.ann.description)
        for (recipients, expected) in [
            (plain, [keys.annNewer]), (named, [keys.annOlder]),
            (named + plain + named, [keys.annOlder, keys.annNewer]),
            (plain + named, [keys.annNewer, keys.annOlder]),
        ] {
            let message = try #require(
                try engine.encryptDirectly(secret("x"), to: recipients, trust: .always, at: now))
            #expect(Packets.recipientKeyIDs(in: message) == expected.map(\.keyID))
            let gpg = OpenPGPEngine(home: FilePath(keys.home.path), encryption: .gpg)
            let theirs = try gpg.encrypt(secret("x"), to: recipients)
            // gpg has an order of its own for subkeys of one key.
            #expect(Set(Packets.recipientKeyIDs(in: theirs)) == Set(expected.map(\.keyID)))
        }
    }

    @Test func preferencesOfOtherKindsAreLeftToGpg() throws {
        let home = try TestHome()
        defer { home.remove() }
        let good = try home.makeKey("Good <good@example.org>")
        let engine = try home.engine
        for (name, preferences) in [
            ("old", "AES192 AES256 SHA256"), ("none", "AES SHA256"), ("nomdc", "AES256 SHA256 no-mdc"),
        ] {
            try home.gpg([
                "--pinentry-mode", "loopback", "--passphrase", "", "--default-preference-list", preferences,
                "--quick-gen-key", "\(name) <\(name)@example.org>", "future-default", "default", "never",
            ])
            let recipients = try engine.resolve("\(name)@example.org") + engine.resolve(good.description)
            #expect(try !isDirect(engine, recipients), "\(name)")
            #expect(try engine.decrypt(engine.encrypt(secret("x"), to: recipients), limit: 9).array == [120])
        }
        #expect(try isDirect(engine, engine.resolve(good.description)))
    }

    @Test func otherAlgorithmsAreLeftToGpg() throws {
        let home = try TestHome()
        defer { home.remove() }
        let engine = try home.engine
        for algorithm in ["brainpoolP256r1", "secp256k1", "elg2048"] {
            let key = try home.makeKey("\(algorithm) <k@example.org>", "ed25519", usage: "sign")
            // Not every gpg makes ElGamal keys this way.
            guard (try? home.addSubkey(algorithm, to: key)) != nil else { continue }
            let recipients = try engine.resolve(key.description)
            #expect(try !isDirect(engine, recipients), "\(algorithm)")
            #expect(try engine.decrypt(engine.encrypt(secret("x"), to: recipients), limit: 9).array == [120])
        }
    }

    @Test func aChangedConfigurationCountsAtOnce() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("One <one@example.org>")
        let engine = try home.engine
        let recipients = try engine.resolve(key.description)
        #expect(try isDirect(engine, recipients))
        for (file, text, isDirect) in [
            ("gpg.conf", "throw-keyids\n", false), ("gpg.conf", "# nothing\n", true),
            ("gpg.conf", "rfc4880\n", false), ("gpg.conf", "armor\nkeyid-format long\n", true),
            ("gpg.conf-2", "hidden-encrypt-to x\n", false), ("gpg.conf-2", "\n", true),
            ("common.conf", "use-keyboxd\n", false), ("common.conf", "", true),
        ] {
            try File.write(text, to: "\(home.path)/\(file)")
            #expect(try self.isDirect(engine, recipients) == isDirect, "\(file): \(text)")
        }
        try File.write("throw-keyids\n", to: "\(home.path)/gpg.conf")
        try File.write("", to: "\(home.path)/gpg.conf-2")
        // gpg reads the most specific file only; that one is enough to leave it to gpg does no harm.
        #expect(Packets.recipientKeyIDs(in: try engine.encrypt(secret("x"), to: recipients)).count == 1)
    }

    @Test func aChangedKeyringCountsAtOnce() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("One <one@example.org>", at: "20200101T000000")
        let engine = try home.engine
        let before = try engine.resolve(key.description)
        let old = try #require(before.first?.encryptionSubkey(at: now))
        #expect(try isDirect(engine, before))
        try home.addSubkey("cv25519", to: key)
        // Even for a recipient that was looked up before the keyring changed.
        let message = try #require(
            try engine.encryptDirectly(secret("x"), to: before, trust: .always, at: Int64(time(nil))))
        #expect(Packets.recipientKeyIDs(in: message) != [old.keyID])
        try home.gpg(
            ["--command-fd", "0", "--edit-key", key.description], input: Array("disable\nquit\n".utf8))
        #expect(try !isDirect(engine, before))
        try home.gpg(
            ["--command-fd", "0", "--edit-key", key.description], input: Array("enable\nquit\n".utf8))
        #expect(try isDirect(engine, before))
        try home.gpg([
            "--pinentry-mode", "loopback", "--passphrase", "", "--quick-set-expire", key.description,
            "seconds=1",
        ])
        var code: OpenPGPError.Code?
        for _ in 0..<500 where code != .expiredKey {
            usleep(20_000)
            do {
                _ = try engine.encrypt(secret("x"), to: before)
            } catch { code = (error as? OpenPGPError)?.code }
        }
        #expect(code == .expiredKey)
        #expect(try !isDirect(engine, before))
    }

    /// A key that runs out while nothing changes on disk.
    @Test func timeCountsWhereNothingChanges() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("One <one@example.org>", expires: "1d")
        let engine = try home.engine
        let recipients = try engine.resolve(key.description)
        let packet = { now in
            try engine.encryptDirectly(secret("x"), to: recipients, trust: .always, at: now)
        }
        #expect(try packet(now) != nil)
        #expect(try packet(now + 2 * 86_400) == nil)
        #expect(try packet(now - 86_400) == nil, "gpg uses no key from the future")
    }

    @Test func onlyHarmlessOptionsAreHarmless() {
        func isHarmless(_ text: String) -> Bool { ConfigurationFiles.isHarmless(Array(text.utf8)) }
        for text in [
            "", "\n\n# encrypt-to x\n", "  # x", "keyserver hkps://keys.openpgp.org", "--armor",
            "\tno-greeting\r\n",
            "personal-cipher-preferences AES256 AES192", "personal-cipher-preferences S9,S8",
            "cipher-algo aes256",
            "group Team = ann@example.org bob@example.org", "group Team=ann", "default-key 0xDEADBEEF",
        ] {
            #expect(isHarmless(text), "\(text)")
        }
        for text in [
            "throw-keyids", "encrypt-to x", "hidden-encrypt-to x", "rfc4880", "cipher-algo AES",
            "cipher-algo",
            "personal-cipher-preferences AES192 AES256", "compliance de-vs", "keyring x",
            "no-default-keyring",
            "no-greeting\nopenpgp", "force-ocb", "disable-cipher-algo AES256", "[+user x]", "# x\nunknown",
            "group 0123456789ABCDEF0123456789ABCDEF01234567 = x",
            "group 0123456789ABCDEF0123456789ABCDEF01234567! = x",
            "group", "arm", "textmode",
        ] {
            #expect(!isHarmless(text), "\(text)")
        }
        #expect(!ConfigurationFiles.areHarmless(["/tmp"]))
        #expect(ConfigurationFiles.areHarmless(["/nowhere/gpg.conf"]))
        #expect(
            ConfigurationFiles.paths(home: "/h", systemFolder: "/etc/gnupg", version: "2.2.40").prefix(5) == [
                "/h/gpg.conf", "/h/gpg.conf-2", "/h/gpg.conf-2.2", "/h/gpg.conf-2.2.40", "/h/common.conf",
            ])
    }

    @Test func signaturesTellPreferencesFeaturesAndFlags() throws {
        func signature(_ subpackets: [UInt8], type: UInt8 = 0x13) -> [UInt8] {
            [4, type, 22, 8, 0, UInt8(subpackets.count)] + subpackets + [0, 0, 1, 2]
        }
        let ours = try #require(SignatureFacts(body: signature([5, 11, 9, 8, 7, 2, 2, 30, 1, 2, 27, 3])))
        #expect(ours.ciphers == [9, 8, 7, 2] && ours.features == 1 && !ours.asksForMoreRecipients)
        let more = try #require(SignatureFacts(body: signature([3, 27, 0, 4, 2, 0xc8, 1])))
        #expect(more.asksForMoreRecipients && more.hasUnknownCritical && more.ciphers.isEmpty)
        #expect(SignatureFacts(body: signature([9, 11, 9])) == nil)
        #expect(SignatureFacts(body: [3, 5, 0x13]) == nil)
    }

    @Test func multiprecisionIntegersHaveOneForm() {
        for (number, written) in [
            ([], [0, 0]), ([0, 0], [0, 0]), ([1], [0, 1, 1]), ([0, 0, 0x80, 1], [0, 16, 0x80, 1]),
            ([0x40, 0], [0, 15, 0x40, 0]), ([0, 0xff], [0, 8, 0xff]),
        ] as [([UInt8], [UInt8])] {
            var packet: [UInt8] = []
            MultiPrecision.append(number, to: &packet)
            #expect(packet == written)
        }
        var good: ArraySlice<UInt8> = [0, 9, 1, 2, 7]
        #expect(MultiPrecision.take(from: &good).map(Array.init) == [1, 2])
        #expect(good == [7])
        for bad in [[0, 16, 1, 2], [0, 0], [0, 9, 1], [0], [0, 8, 0]] as [[UInt8]] {
            var bytes = bad[...]
            #expect(MultiPrecision.take(from: &bytes) == nil, "\(bad)")
        }
    }
}
