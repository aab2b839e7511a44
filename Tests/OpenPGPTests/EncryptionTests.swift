import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

@Suite struct EncryptionTests {
    let keys: Keys
    let engine: OpenPGPEngine

    init() throws {
        keys = try Keys.shared.get()
        engine = try keys.home.engine
    }

    func recipient(_ fingerprint: Fingerprint) throws -> Recipient {
        try #require(try engine.resolve(fingerprint.description).first)
    }

    @Test(arguments: [0, 1, 100, 8191, 8192, 70_000, 1_048_577])
    func whatIsEncryptedIsDecrypted(size: Int) throws {
        let plaintext = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let message = try engine.encrypt(secret(plaintext), to: [recipient(keys.ann), recipient(keys.bob)])
        #expect(try engine.decrypt(message, limit: size).array == plaintext)
        #expect(try keys.home.gpg(["-d"], input: message) == plaintext)
    }

    @Test func whatPassEncryptedIsDecrypted() throws {
        let message = try keys.home.passEncrypt(Array("hunter2\n".utf8), to: ["bob@example.org"])
        #expect(try engine.decrypt(message, limit: 100).array == Array("hunter2\n".utf8))
        let armored = try keys.home.gpg(["-e", "-a", "-r", keys.ann.description], input: Array("x".utf8))
        #expect(try engine.decrypt(armored, limit: 100).array == Array("x".utf8))
        #expect(Packets.recipientKeyIDs(in: armored) == [keys.annNewer.keyID])
    }

    @Test func theNewestSubkeyIsUsedUnlessOneIsNamed() throws {
        let plain = try engine.encrypt(secret("x"), to: [recipient(keys.ann)])
        #expect(Packets.recipientKeyIDs(in: plain) == [keys.annNewer.keyID])
        let named = try #require(try engine.resolve("\(keys.annOlder)!").first)
        #expect(named.subkey == keys.annOlder)
        let exact = try engine.encrypt(secret("x"), to: [named])
        #expect(Packets.recipientKeyIDs(in: exact) == [keys.annOlder.keyID])
        let both = try engine.encrypt(secret("x"), to: [named, recipient(keys.ann), named])
        #expect(Set(Packets.recipientKeyIDs(in: both)) == [keys.annOlder.keyID, keys.annNewer.keyID])
    }

    @Test func anUnusableRecipientIsNamed() throws {
        let good = try recipient(keys.ann)
        let cases: [(Fingerprint, OpenPGPError.Code, String)] = [
            (
                keys.expired, .expiredKey,
                "the key of Eve <eve@example.org> (\(keys.expired)) expired on 2020-12-31"
            ),
            (keys.revoked, .revokedKey, "the key of Rex <rex@example.org> (\(keys.revoked)) was revoked"),
            (
                keys.disabled, .disabledKey,
                "the key of Dis <dis@example.org> (\(keys.disabled)) is disabled in the keyring"
            ),
            (
                keys.signOnly, .notForEncryption,
                "the key of Sig <sig@example.org> (\(keys.signOnly)) cannot be used for encryption"
            ),
        ]
        for (fingerprint, code, sentence) in cases {
            let bad = try recipient(fingerprint)
            let error = #expect(throws: OpenPGPError.self) {
                try engine.encrypt(secret("x"), to: [good, bad])
            }
            #expect(error == OpenPGPError(code, sentence, subject: fingerprint.description))
        }
        #expect(throws: OpenPGPError.self) { try engine.encrypt(secret("x"), to: []) }
    }

    /// gpg's own refusal, when the key changed after it was listed.
    @Test func gpgsOwnRefusalIsNamed() throws {
        for (fingerprint, code) in [
            (keys.expired, OpenPGPError.Code.expiredKey), (keys.revoked, .revokedKey),
        ] {
            let real = try recipient(fingerprint).key
            let stale = Key(
                fingerprint: real.fingerprint, userIDs: real.userIDs, isRevoked: false, isExpired: false,
                isDisabled: false, isInvalid: false, canEncrypt: true, hasSecret: true, created: 0,
                expires: nil,
                subkeys: real.subkeys.map {
                    Subkey(
                        fingerprint: $0.fingerprint, keyID: $0.keyID, canEncrypt: $0.canEncrypt,
                        isRevoked: false, isInvalid: false, created: 0, expires: nil,
                        hasSecret: true, keygrip: "")
                })
            let error = #expect(throws: OpenPGPError.self) {
                try engine.encrypt(
                    secret("x"), to: [recipient(keys.ann), Recipient(key: stale, named: "stale")])
            }
            #expect(error?.code == code)
            #expect(error?.subject == "stale")
        }
        let gone = Key(
            fingerprint: try #require(Fingerprint(String(repeating: "A", count: 40))), userIDs: [],
            isRevoked: false,
            isExpired: false, isDisabled: false, isInvalid: false, canEncrypt: true, hasSecret: false,
            created: 0,
            expires: nil,
            subkeys: try recipient(keys.bob).key.subkeys)
        let error = #expect(throws: OpenPGPError.self) {
            try engine.encrypt(secret("x"), to: [Recipient(key: gone, named: "gone")])
        }
        #expect(error?.code == .missingKey)
    }

    @Test func whatIsNoMessageOrDamagedSaysSo() throws {
        #expect(code([]) == .notEncrypted)
        #expect(code(Array("just text\n".utf8)) == .notEncrypted)
        let message = try engine.encrypt(secret("x"), to: [recipient(keys.ann)])
        var damaged = message
        damaged[damaged.count - 3] ^= 0x40
        #expect(code(damaged) == .corrupt)
        #expect(code(Array(message.dropLast(9))) == .corrupt)
        let large = try engine.encrypt(
            secret([UInt8](repeating: 7, count: 100_000)), to: [recipient(keys.ann)])
        var middle = large
        middle[50_000] ^= 1
        #expect(code(middle) == .corrupt)
    }

    private func code(_ message: [UInt8], limit: Int = 1 << 20) -> OpenPGPError.Code? {
        do throws(OpenPGPError) {
            _ = try engine.decrypt(message, limit: limit)
            return nil
        } catch { return error.code }
    }

    @Test func aMessageWithoutProtectionIsRefused() throws {
        let message = try keys.home.gpg(
            [
                "-e", "-r", keys.ann.description, "--rfc2440", "--cipher-algo", "3DES", "--compress-algo",
                "none", "-o", "-",
            ],
            input: Array("x".utf8))
        #expect(code(message) == .corrupt)
        let lax = try TestHome(configuration: "ignore-mdc-error\n")
        defer { lax.remove() }
        let secretKey = try keys.home.gpg(["--export-secret-keys", keys.ann.description])
        try lax.gpg(["--import"], input: secretKey)
        let other = try lax.engine
        let error = #expect(throws: OpenPGPError.self) { try other.decrypt(message, limit: 100) }
        #expect(error?.code == .corrupt)
        // Inside another message whose check passes.
        let sealed = try SealedPackets(
            like: try engine.encrypt(secret("x"), to: [recipient(keys.ann)]), try keys.home.engine)
        let nested = #expect(throws: OpenPGPError.self) {
            try other.decrypt(sealed.message(message), limit: 100)
        }
        #expect(nested?.code == .corrupt, "\(String(describing: nested))")
    }

    @Test func theLimitHolds() throws {
        let message = try engine.encrypt(
            secret([UInt8](repeating: 7, count: 300_000)), to: [recipient(keys.ann)])
        #expect(code(message, limit: 299_999) == .tooLarge)
        #expect(code(message, limit: 0) == .tooLarge)
        #expect(code(message, limit: 300_000) == nil)
    }

    @Test func aForeignMessageHasNoSecretKey() throws {
        let stranger = try TestHome()
        defer { stranger.remove() }
        try stranger.makeKey("Zed <zed@example.org>")
        let message = try stranger.passEncrypt([1, 2, 3], to: ["zed@example.org"])
        #expect(code(message) == .noSecretKey)
    }

    @Test func encryptToAndArmorOfGpgConfDoNotMatter() throws {
        let home = try TestHome()
        defer { home.remove() }
        let one = try home.makeKey("One <one@example.org>")
        let two = try home.makeKey("Two <two@example.org>")
        try File.write("encrypt-to \(two)\narmor\n", to: "\(home.path)/gpg.conf")
        let engine = try home.engine
        let message = try engine.encrypt(secret("x"), to: engine.resolve(one.description))
        #expect(message.first.map { $0 & 0x80 } == 0x80)
        #expect(Packets.recipientKeyIDs(in: message).count == 1)
        try File.write("throw-keyids\n", to: "\(home.path)/gpg.conf")
        let hidden = try engine.encrypt(
            secret("x"), to: engine.resolve(one.description) + engine.resolve(two.description))
        #expect(Packets.recipientKeyIDs(in: hidden) == [0, 0])
        #expect(try engine.decrypt(hidden, limit: 10).array == Array("x".utf8))
    }

    /// gpg tries its keys in an order of its own, and tells of the first as of a failure.
    @Test func aHiddenRecipientMayBeAnyKeyOfOurs() throws {
        let home = try TestHome()
        defer { home.remove() }
        let keys = try ["one", "two", "three"].map { try home.makeKey("\($0) <\($0)@example.org>") }
        let engine = try home.engine
        for key in keys {
            let message = try home.gpg(
                ["--throw-keyids", "--always-trust", "-r", key.description, "-e"], input: [65])
            #expect(try engine.decrypt(message, limit: 10).array == [65])
        }
    }

    /// A message that is signed, or stored, and for everybody to read.
    @Test func whatIsNotEncryptedIsToldSo() throws {
        let message = try keys.home.gpg(["--store"], input: [65])
        #expect(code(message) == .notEncrypted)
    }

    @Test func manyThreadsAtOnce() throws {
        let message = try engine.encrypt(secret("parallel"), to: [recipient(keys.bob)])
        let engine = engine
        let right = Counter()
        let ended = try Wakeups()
        for _ in 0..<24 {
            try PosixThread.start(named: "test") {
                let plaintext = try? engine.decrypt(message, limit: 100)
                if plaintext?.array == Array("parallel".utf8) { right.add() }
                ended.add()
            }
        }
        #expect(ended.wait(for: 24, seconds: 60))
        #expect(right.value == 24)
    }

    /// Rule 2 of the design: plaintext is in secret memory only.
    @Test func noPlaintextIsLeftInOrdinaryMemory() throws {
        let mask: UInt8 = 0xA5
        let masked = (0..<24).map { _ in UInt8.random(in: 0...255) }
        var control = [UInt8](repeating: 0, count: 64)
        for index in masked.indices { control[index + 20] = masked[index] ^ mask }
        #expect(try MemoryMap.count(masked: masked, mask: mask) > 0, "the search finds what is there")
        control.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) }
        try #require(try MemoryMap.count(masked: masked, mask: mask) == 0)

        for size in [24, 30_000, 400_000] {
            var buffer = SecretBuffer()
            try buffer.resize(to: size)
            for start in stride(from: 0, through: size - 24, by: 500) {
                for index in masked.indices {
                    var byte = masked[index] ^ mask
                    try withUnsafeBytes(of: &byte) { try buffer.write($0, at: start + index) }
                }
            }
            let plaintext = buffer.freeze()
            let message = try engine.encrypt(plaintext, to: [recipient(keys.ann)])
            let decrypted = try engine.decrypt(message, limit: size)
            #expect(decrypted.count == size)
            #expect(try MemoryMap.count(masked: masked, mask: mask) == 0, "with \(size) bytes")
            withExtendedLifetime((plaintext, decrypted)) {}
        }
        #expect(try MemoryMap.count(masked: masked, mask: mask) == 0)
    }
}
