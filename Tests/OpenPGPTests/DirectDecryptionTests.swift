import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// A key for each algorithm that messages are decrypted for without gpg.
private struct DecryptionKeys: Sendable {
    static let names = [
        "rsa2048", "rsa3072", "rsa4096", "elg2048", "cv25519", "nistp256", "nistp384", "nistp521",
        "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1",
    ]
    static let shared = Result { try DecryptionKeys() }
    let home: TestHome
    let keys: [String: Fingerprint]

    private init() throws {
        home = try TestHome()
        var keys: [String: Fingerprint] = [:]
        for name in Self.names {
            let key: Fingerprint
            if name == "elg2048" {
                try home.gpg(
                    ["--pinentry-mode", "loopback", "--passphrase", "", "--gen-key"],
                    input: Array(
                        """
                        Key-Type: RSA
                        Key-Length: 2048
                        Key-Usage: sign
                        Subkey-Type: ELG-E
                        Subkey-Length: 2048
                        Name-Email: \(name)@example.org
                        %no-protection
                        %commit

                        """.utf8))
                let listed = try home.engine.keys(matching: ["\(name)@example.org"], secretOnly: true)
                key = try #require(listed.first).fingerprint
            } else {
                key = try home.makeKey("\(name) <\(name)@example.org>", "ed25519", usage: "sign")
                try home.addSubkey(name, to: key)
            }
            keys[name] = key
        }
        self.keys = keys
    }
}

extension OpenPGPEngine {
    /// What is decrypted without gpg; nil where that is left to gpg.
    func decryptDirectly(_ message: [UInt8], _ request: DecryptionRequest) throws(OpenPGPError) -> Decrypted?
    {
        guard let direct = decryption as? DirectDecryptor else { return nil }
        return try message.withBytes { (bytes) throws(OpenPGPError) in
            try direct.directly(bytes, request, GnuPG.bounds(of: request))
        }
    }
}

/// What is decrypted without gpg, compared with what gpg makes of it.
@Suite struct DirectDecryptionTests {
    private let keys: DecryptionKeys
    let engine: OpenPGPEngine
    let gpg: OpenPGPEngine

    init() throws {
        keys = try DecryptionKeys.shared.get()
        engine = try keys.home.engine
        gpg = try OpenPGPEngine(home: FilePath(keys.home.path), encryption: .gpg)
    }

    private func encrypt(_ plaintext: [UInt8], to names: [String], _ options: [String] = []) throws -> [UInt8]
    {
        let recipients = try names.flatMap { ["-r", try #require(keys.keys[$0]).description] }
        return try keys.home.gpg(["-e", "--always-trust"] + recipients + options, input: plaintext)
    }

    /// Both ways give just this, and the direct one without gpg.
    private func expectBoth(_ message: [UInt8], _ plaintext: [UInt8], _ what: String) throws {
        let limit = max(plaintext.count, 1)
        let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: limit))
        #expect(direct.map { $0.plaintext.array == plaintext } == true, "direct, \(what)")
        #expect(try gpg.decrypt(message, limit: limit).array == plaintext, "gpg, \(what)")
    }

    @Test(arguments: DecryptionKeys.names) func everyKindOfKey(name: String) throws {
        for round in 0..<20 {
            let plaintext = Array("secret \(round)\n".utf8)
            try expectBoth(try encrypt(plaintext, to: [name]), plaintext, name)
        }
    }

    @Test(arguments: [
        "IDEA", "3DES", "CAST5", "BLOWFISH", "AES", "AES192", "AES256", "TWOFISH", "CAMELLIA128",
        "CAMELLIA192",
        "CAMELLIA256",
    ]) func everyCipher(cipher: String) throws {
        for size in [0, 1, 8191, 30_000] {
            let plaintext = (0..<size).map { _ in UInt8.random(in: 0...255) }
            let message = try encrypt(plaintext, to: ["cv25519"], ["--cipher-algo", cipher, "--force-mdc"])
            try expectBoth(message, plaintext, "\(cipher), \(size)")
        }
    }

    @Test(arguments: ["none", "zip", "zlib"]) func everyCompressionAndSize(compression: String) throws {
        for size in [0, 1, 5, 190, 191, 192, 200, 8383, 8384, 8385, 70_000, (1 << 20) + 1] {
            for isRandom in [false, true] {
                let plaintext = (0..<size).map {
                    isRandom ? UInt8.random(in: 0...255) : UInt8($0 / 1000 & 0xff)
                }
                let message = try encrypt(plaintext, to: ["cv25519"], ["--compress-algo", compression])
                try expectBoth(message, plaintext, "\(compression), \(size)")
            }
        }
    }

    @Test func largeSecrets() throws {
        let block = (0..<65_536).map { _ in UInt8.random(in: 0...255) }
        let plaintext = Array(repeatElement(block, count: 1024).joined()).dropLast(3)
        for compression in ["none", "zlib"] {
            let message = try encrypt(Array(plaintext), to: ["cv25519"], ["--compress-algo", compression])
            try expectBoth(message, Array(plaintext), compression)
        }
    }

    /// Files with a name, whose lengths are known; armour; several recipients, of whom some are not ours.
    @Test func otherFormsOfMessages() throws {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let plaintext = Array("user: ann\n".utf8)
        try File.write(plaintext, to: "\(folder.path)/note")
        let key = try #require(keys.keys["nistp256"]).description
        for options in [[], ["--armor"], ["--compress-algo", "none"]] {
            let message = try keys.home.gpg(
                ["--always-trust", "-r", key, "-o", "-"] + options + ["-e", "\(folder.path)/note"])
            try expectBoth(message, plaintext, "\(options)")
            let text = try encrypt(plaintext, to: ["rsa2048", "cv25519", "elg2048"], options)
            try expectBoth(text, plaintext, "\(options)")
        }
    }

    /// What is unusual is left to gpg, and the whole gives what gpg gives.
    @Test func whatIsUnusualIsLeftToGpg() throws {
        let plaintext = Array("one\r\ntwo\r\n".utf8)
        let signer = try #require(keys.keys["cv25519"]).description
        for options in [
            ["--throw-keyids"], ["--textmode"], ["-s", "-u", signer], ["--compress-algo", "bzip2"],
            ["--set-filename", "_CONSOLE"],
            ["-c", "--pinentry-mode", "loopback", "--passphrase", "x"],
        ] {
            let message = try encrypt(plaintext, to: ["cv25519"], options)
            #expect(try engine.decryptDirectly(message, DecryptionRequest(limit: 99)) == nil, "\(options)")
            #expect(try engine.decrypt(message, limit: 99).array == gpg.decrypt(message, limit: 99).array)
        }
        let message = try encrypt(plaintext, to: ["cv25519"], [])
        let armored = try encrypt(plaintext, to: ["cv25519"], ["--armor"])
        var badSum = armored
        let sum = try #require(badSum.lastIndex(of: UInt8(ascii: "=")))
        badSum[sum + 1] = badSum[sum + 1] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        for (message, limit) in [
            (message + [0], 99), (message + message, 99), (message.dropLast(), 99), (message, 3),
            (badSum, 99),
            (armored + Array("x\n".utf8), 99), ([], 99), (Array("hello".utf8), 99),
        ] as [([UInt8], Int)] {
            #expect(try engine.decryptDirectly(message, DecryptionRequest(limit: limit)) == nil)
            #expect(outcome(engine, message, limit) == outcome(gpg, message, limit))
        }
    }

    private func outcome(
        _ engine: OpenPGPEngine, _ message: [UInt8], _ limit: Int
    ) -> Result<[UInt8], OpenPGPError> {
        do throws(OpenPGPError) { return .success(try engine.decrypt(message, limit: limit).array) } catch {
            return .failure(error)
        }
    }

    @Test func expiredAndRevokedKeysDecrypt() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("Ann <ann@example.org>", "ed25519", usage: "sign", at: "20200101T000000")
        try home.gpg([
            "--faked-system-time", "20200102T000000", "--pinentry-mode", "loopback", "--passphrase", "",
            "--quick-add-key", key.description, "cv25519", "encr", "1y",
        ])
        try home.addSubkey("cv25519", to: key)
        let engine = try home.engine
        let expired = try home.gpg(
            ["--faked-system-time", "20200601T000000", "--always-trust", "-r", key.description, "-e"],
            input: [1, 2])
        let current = try home.gpg(["--always-trust", "-r", key.description, "-e"], input: [3])
        try home.gpg(
            ["--command-fd", "0", "--edit-key", key.description],
            input: Array("key 2\nrevkey\ny\n0\n\ny\nsave\n".utf8))
        let listed = try #require(try engine.keys(matching: [key.description], secretOnly: true).first)
        #expect(listed.subkeys.contains { $0.isRevoked })
        for (message, plaintext) in [(expired, [1, 2]), (current, [3])] as [([UInt8], [UInt8])] {
            let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: 9))
            #expect(direct?.plaintext.array == plaintext)
        }
    }

    @Test func aSessionKeyDecryptsWithoutAnyAgent() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("Ann <ann@example.org>")
        let message = try home.passEncrypt([7, 8], to: [key.description])
        let other = try home.passEncrypt([9], to: [key.description])
        let engine = try home.engine
        let first = try #require(try engine.decryptDirectly(message, DecryptionRequest(limit: 9)))
        let known = try #require(first.key)
        home.remove()
        let request = DecryptionRequest(limit: 9, key: known)
        #expect(try engine.decryptDirectly(message, request)?.plaintext.array == [7, 8])
        // It fits no other message, and is no key once it was forgotten.
        #expect(try engine.decryptDirectly(other, request) == nil)
        known.forget()
        #expect(try engine.decryptDirectly(message, request) == nil)
    }

    @Test func sessionKeysShareTheirPages() throws {
        let cipher = try #require(SymmetricCipher(id: 9))
        let keys = (0..<1000).compactMap { number in
            [UInt8](repeating: UInt8(number & 0xff), count: 32).withBytes { MessageKey($0, for: cipher) }
        }
        #expect(keys.count == 1000)
        for (number, key) in keys.enumerated() {
            let copy = try key.copy()
            #expect(copy.bytes.allSatisfy { $0 == UInt8(number & 0xff) })
        }
        keys[3].forget()
        keys[3].forget()
        #expect(throws: OpenPGPError.self) { _ = try keys[3].copy().count }
        #expect([UInt8](repeating: 1, count: 16).withBytes { MessageKey($0, for: cipher) } == nil)
    }

    @Test func messagesOfSequoia() throws {
        guard (try? Program.run("sq", ["--version"]))?.status == 0 else { return }
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        for name in ["cv25519", "rsa2048", "nistp384"] {
            let key = try #require(keys.keys[name])
            try File.write(try engine.exportKeys([key]), to: "\(folder.path)/cert")
            for options in [
                ["none"], ["none", "--binary"], ["zip"], ["zlib", "--binary"], ["bzip2"], ["pad"],
            ] {
                for size in [0, 100, 100_000] {
                    let plaintext = (0..<size).map { _ in UInt8.random(in: 0...255) }
                    let made = try Program.run(
                        "sq",
                        ["encrypt", "--recipient-cert", "\(folder.path)/cert", "--compression"] + options,
                        input: plaintext)
                    try #require(made.status == 0, "\(made.errors)")
                    if ["bzip2", "pad"].contains(options[0]) {
                        #expect(try engine.decrypt(made.output, limit: 1 << 20).array == plaintext)
                    } else {
                        try expectBoth(made.output, plaintext, "sq \(name) \(options) \(size)")
                    }
                }
            }
        }
    }
}
