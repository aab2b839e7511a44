import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import OpenPGP

/// Each kind of message that others write, decrypted in both ways: the same bytes, and without gpg where that is promised.
///
/// What takes long is done where `PASSDIR_SOAK` is set: every cipher for every key, and all sizes in every form.
@Suite struct DecryptionMatrixTests {
    private static let isSoak = getenv("PASSDIR_SOAK") != nil
    private static let ciphers = [
        "IDEA", "3DES", "CAST5", "BLOWFISH", "AES", "AES192", "AES256", "TWOFISH", "CAMELLIA128",
        "CAMELLIA192", "CAMELLIA256",
    ]
    private let keys: DecryptionKeys

    init() throws { keys = try DecryptionKeys.shared.get() }

    private func random(_ size: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 8)
        while bytes.count < size {
            var word = generator.next()
            withUnsafeBytes(of: &word) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(size))
    }

    /// An unlucky first octet, a short number, comes once in 256 messages.
    @Test(arguments: DecryptionKeys.names) func everyKindOfKey(name: String) throws {
        for round in 0..<(Self.isSoak ? 600 : 20) {
            let plaintext = Array("secret \(round)\n".utf8)
            try keys.expectBoth(try keys.encrypt(plaintext, to: [name]), plaintext, name)
        }
    }

    @Test(arguments: ciphers) func everyCipher(cipher: String) throws {
        let options = ["--cipher-algo", cipher, "--force-mdc"]
        for size in [0, 1, 8191, 30_000] {
            let plaintext = random(size)
            let message = try keys.encrypt(plaintext, to: ["cv25519"], options)
            try keys.expectBoth(message, plaintext, "\(cipher), \(size)")
        }
        // In turn, so that each cipher meets keys of several kinds.
        let turn = (Self.ciphers.firstIndex(of: cipher) ?? 0)
        let names = DecryptionKeys.names
        for name in Self.isSoak ? names : [names[turn % names.count]] {
            let plaintext = random(100)
            let message = try keys.encrypt(plaintext, to: [name], options)
            try keys.expectBoth(message, plaintext, "\(cipher) for \(name)")
        }
    }

    /// GnuPG's packet of authenticated encryption, which gpg writes from 2.3 on, with the ciphers that have its blocks.
    @Test(arguments: ["AES", "AES192", "AES256", "TWOFISH", "CAMELLIA128", "CAMELLIA192", "CAMELLIA256"])
    func everyAuthenticatedCipher(cipher: String) throws {
        let sealed = try keys.sealed(cipher)
        for mode in [1, 2] as [UInt8] {
            for (size, chunk) in [
                (0, 0), (1, 0), (49, 0), (56, 0), (57, 0), (1000, 0), (5000, 6), (8184, 6), (70_000, 6),
                (70_000, 16),
            ] as [(Int, UInt8)] {
                let plaintext = random(size)
                let message = try sealed.authenticated(
                    SealedPackets.literal(plaintext), mode: mode, chunk: chunk)
                try keys.expectBoth(message, plaintext, "\(cipher), mode \(mode), \(size) in \(chunk)")
            }
        }
    }

    @Test(arguments: ["none", "zip", "zlib", "bzip2"])
    func everyCompressionAndSize(compression: String) throws {
        for size in [0, 1, 5, 190, 191, 192, 200, 8383, 8384, 8385, 70_000, (1 << 20) + 1] {
            for isRandom in [false, true] {
                let plaintext = isRandom ? random(size) : (0..<size).map { UInt8($0 / 1000 & 0xff) }
                let message = try keys.encrypt(plaintext, to: ["cv25519"], ["--compress-algo", compression])
                // gpg does not compress what would not get smaller.
                try keys.expectBoth(
                    message, plaintext, isDirect: compression != "bzip2", "\(compression), \(size)")
            }
        }
    }

    /// Parts of each length that is permitted up to 1 MiB, of the ciphertext and of the text.
    @Test func everyPartialLength() throws {
        let sealed = try keys.sealed()
        for power in 9...20 {
            let part = 1 << power
            // What a text's packet has before its data counts for its first part.
            let isFew = power > 13 && !Self.isSoak
            for size in isFew ? [2 * part - 6] : [part - 7, part - 6, part - 5, 2 * part - 6, 2 * part + 100]
            {
                let plaintext = random(size)
                let inside = SealedPackets.literal(plaintext, inPartsOf: part)
                try keys.expectBoth(
                    try sealed.message(inside, inPartsOf: part), plaintext, "\(size) in parts of \(part)")
            }
            let plaintext = random(3 * part)
            for mode in [1, 2] as [UInt8] where power < 14 {
                let inside = SealedPackets.literal(plaintext, inPartsOf: part)
                let message = try sealed.authenticated(inside, mode: mode, chunk: UInt8(power - 6))
                try keys.expectBoth(message, plaintext, "authenticated, parts of \(part)")
            }
        }
    }

    @Test(.slow) func largeSecrets() throws {
        let block = random(65_536)
        for size in Self.isSoak ? [64 << 20, (64 << 20) - 3, 20_000_000] : [(64 << 20) - 3] {
            let plaintext = Array(Array(repeatElement(block, count: 1024).joined()).prefix(size))
            for compression in Self.isSoak ? ["none", "zip", "zlib", "bzip2"] : ["none", "zlib"] {
                let message = try keys.encrypt(
                    plaintext, to: ["cv25519"], ["--compress-algo", compression])
                try keys.expectBoth(
                    message, plaintext, isDirect: compression != "bzip2", "\(compression), \(size)")
            }
            guard Self.isSoak else { continue }
            let message = try keys.sealed().authenticated(
                SealedPackets.literal(plaintext), mode: 2, chunk: 16)
            try keys.expectBoth(message, plaintext, "authenticated, \(size)")
        }
    }

    /// A signature makes gpg decrypt; what it was made with makes no difference.
    @Test(arguments: ["SHA1", "RIPEMD160", "SHA224", "SHA256", "SHA384", "SHA512"])
    func everyDigest(digest: String) throws {
        let plaintext = Array("user: ann\n".utf8)
        let signer = try keys["elg2048"].description
        let message = try keys.encrypt(
            plaintext, to: ["cv25519"], ["-s", "-u", signer, "--digest-algo", digest])
        try keys.expectBoth(message, plaintext, isDirect: false, digest)
        let withPassphrase = try keys.encrypt(
            plaintext, to: ["cv25519"],
            ["-c", "--s2k-digest-algo", digest, "--pinentry-mode", "loopback", "--passphrase", "x"])
        try keys.expectBoth(withPassphrase, plaintext, isDirect: false, "passphrase, \(digest)")
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
        let gpg = OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)
        let expired = try home.gpg(
            ["--faked-system-time", "20200601T000000", "--always-trust", "-r", key.description, "-e"],
            input: [1, 2])
        let current = try home.gpg(["--always-trust", "-r", key.description, "-e"], input: [3])
        func expectBoth() throws {
            for (message, plaintext) in [(expired, [1, 2]), (current, [3])] as [([UInt8], [UInt8])] {
                let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: 9))
                #expect(direct?.plaintext.array == plaintext)
                #expect(try gpg.decrypt(message, limit: 9).array == plaintext)
            }
        }
        try home.gpg(
            ["--command-fd", "0", "--edit-key", key.description],
            input: Array("key 2\nrevkey\ny\n0\n\ny\nsave\n".utf8))
        var listed = try #require(try engine.keys(matching: [key.description], secretOnly: true).first)
        #expect(listed.subkeys.contains { $0.isRevoked })
        try expectBoth()
        // And the whole key.
        let certificate = try File.read("\(home.path)/openpgp-revocs.d/\(key).rev")
        let text = String(decoding: certificate, as: UTF8.self)
        let begin = try #require(text.firstRange(of: ":-----BEGIN"))
        try home.gpg(["--import"], input: Array(text[text.index(after: begin.lowerBound)...].utf8))
        listed = try #require(try engine.keys(matching: [key.description], secretOnly: true).first)
        #expect(listed.isRevoked)
        try expectBoth()
    }
}
