import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// What is decrypted without gpg, compared with what gpg makes of it.
@Suite struct DirectDecryptionTests {
    private let keys: DecryptionKeys

    init() throws { keys = try DecryptionKeys.shared.get() }

    /// Files with a name, whose lengths are known; armour; several recipients, of whom some are not ours.
    @Test func otherFormsOfMessages() throws {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let plaintext = Array("user: ann\n".utf8)
        try File.write(plaintext, to: "\(folder.path)/note")
        let key = try keys["nistp256"].description
        for options in [[], ["--armor"], ["--compress-algo", "none"]] {
            let message = try keys.home.gpg(
                ["--always-trust", "-r", key, "-o", "-"] + options + ["-e", "\(folder.path)/note"])
            try keys.expectBoth(message, plaintext, "\(options)")
            let text = try keys.encrypt(plaintext, to: ["rsa2048", "cv25519", "elg2048"], options)
            try keys.expectBoth(text, plaintext, "\(options)")
        }
    }

    /// What is unusual is left to gpg, and the whole gives what gpg gives.
    @Test func whatIsUnusualIsLeftToGpg() throws {
        let plaintext = Array("one\r\ntwo\r\n".utf8)
        let signer = try keys["cv25519"].description
        for options in [
            ["--throw-keyids"], ["--textmode"], ["-s", "-u", signer], ["--compress-algo", "bzip2"],
            ["--set-filename", "_CONSOLE"],
            ["-c", "--pinentry-mode", "loopback", "--passphrase", "x"],
        ] {
            let message = try keys.encrypt(plaintext, to: ["cv25519"], options)
            #expect(
                try keys.engine.decryptDirectly(message, DecryptionRequest(limit: 99)) == nil, "\(options)")
            #expect(
                try keys.engine.decrypt(message, limit: 99).array
                    == keys.gpg.decrypt(message, limit: 99).array)
        }
        let message = try keys.encrypt(plaintext, to: ["cv25519"], [])
        let armored = try keys.encrypt(plaintext, to: ["cv25519"], ["--armor"])
        var badSum = armored
        let sum = try #require(badSum.lastIndex(of: UInt8(ascii: "=")))
        badSum[sum + 1] = badSum[sum + 1] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        for (message, limit) in [
            (message + [0], 99), (message + message, 99), (message.dropLast(), 99), (message, 3),
            (badSum, 99),
            (armored + Array("x\n".utf8), 99), ([], 99), (Array("hello".utf8), 99),
        ] as [([UInt8], Int)] {
            #expect(try keys.engine.decryptDirectly(message, DecryptionRequest(limit: limit)) == nil)
            #expect(outcome(keys.engine, message, limit) == outcome(keys.gpg, message, limit))
        }
    }

    private func outcome(
        _ engine: OpenPGPEngine, _ message: [UInt8], _ limit: Int
    ) -> Result<[UInt8], OpenPGPError> {
        do throws(OpenPGPError) { return .success(try engine.decrypt(message, limit: limit).array) } catch {
            return .failure(error)
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

}
