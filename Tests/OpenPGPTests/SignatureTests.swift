import Glibc
import SystemPackage
import Testing

@testable import OpenPGP

@Suite struct SignatureTests {
    let keys: Keys
    let engine: OpenPGPEngine

    init() throws {
        keys = try Keys.shared.get()
        engine = try keys.home.engine
    }

    @Test func whatIsSignedVerifies() throws {
        let data = Array("ann@example.org\n".utf8)
        let signature = try engine.signDetached(data, by: keys.ann)
        #expect(signature.starts(with: Array("-----BEGIN PGP SIGNATURE-----".utf8)))
        #expect(try engine.verifyDetached(signature: signature, of: data) == [keys.ann])
        let error = #expect(throws: OpenPGPError.self) {
            try engine.verifyDetached(signature: signature, of: data + [10])
        }
        #expect(error?.code == .badSignature)
        let binary = try keys.home.gpg(["-u", keys.bob.description, "--detach-sign"], input: data)
        #expect(try engine.verifyDetached(signature: binary, of: data) == [keys.bob])
    }

    @Test func aGoodSignatureIsRememberedWhileNothingChanges() throws {
        let home = try TestHome()
        defer { home.remove() }
        let key = try home.makeKey("Sue <sue@example.org>")
        let data = Array("sue@example.org\n".utf8)
        let engine = try home.engine
        let signature = try engine.signDetached(data, by: key)
        // The first listing of a new keyring makes gpg compute its trust database.
        for _ in 0..<2 { #expect(try engine.verifyDetached(signature: signature, of: data) == [key]) }
        // What is bad is not remembered: each time gpg is asked. In turns, as other work slows both down.
        let clock = ContinuousClock()
        var good = Duration.zero
        var bad = Duration.zero
        for _ in 0..<20 {
            good += try clock.measure { _ = try engine.verifyDetached(signature: signature, of: data) }
            bad += clock.measure {
                #expect(throws: OpenPGPError.self) {
                    try engine.verifyDetached(signature: signature, of: data + [10])
                }
            }
        }
        #expect(good * 2 < bad)
        try home.gpg(["--batch", "--quick-set-expire", key.description, "seconds=2"])
        // Good for as long as the key is, also from memory; a slow machine may be past that already.
        for _ in 0..<500 {
            guard let signers = try? engine.verifyDetached(signature: signature, of: data) else { break }
            #expect(signers == [key])
            usleep(20_000)
        }
        #expect(throws: OpenPGPError.self) { try engine.verifyDetached(signature: signature, of: data) }
        try home.gpg(["--batch", "--quick-set-expire", key.description, "0"])
        #expect(try engine.verifyDetached(signature: signature, of: data) == [key])
        try home.gpg(["--batch", "--yes", "--delete-secret-and-public-key", key.description])
        let error = #expect(throws: OpenPGPError.self) {
            try engine.verifyDetached(signature: signature, of: data)
        }
        #expect(error?.code == .missingKey)
    }

    @Test func answersEndWithTime() throws {
        let home = HomeIdentity([])
        let question = DetachedSignature(signature: [1], data: [2])
        var verified = HomeCache<DetachedSignature, [Fingerprint]>(limit: 256)
        verified.remember([], for: question, home: home, now: 10, expiries: [9, 20, 30])
        #expect(verified.answer(question, home: home, now: 9) == nil)
        #expect(verified.answer(question, home: home, now: 10) == [])
        #expect(verified.answer(question, home: home, now: 20) == nil)
        #expect(verified.answer(question, home: HomeIdentity(["/"]), now: 10) == nil)
    }

    @Test func noSignatureIsGood() throws {
        for bytes in [[], Array("nonsense".utf8)] as [[UInt8]] {
            let error = #expect(throws: OpenPGPError.self) {
                try engine.verifyDetached(signature: bytes, of: [1])
            }
            #expect(error?.code == .badSignature)
        }
    }

    @Test func theKeyMustBeKnownAndValid() throws {
        let stranger = try TestHome()
        defer { stranger.remove() }
        let zed = try stranger.makeKey("Zed <zed@example.org>")
        let signature = try stranger.engine.signDetached([1], by: zed)
        let error = #expect(throws: OpenPGPError.self) {
            try engine.verifyDetached(signature: signature, of: [1])
        }
        #expect(error?.code == .missingKey)
        let old = try keys.home.gpg(
            ["--faked-system-time", "20200601T000000", "-u", keys.expired.description, "--detach-sign"],
            input: [1])
        #expect(throws: OpenPGPError.self) { try engine.verifyDetached(signature: old, of: [1]) }
        let none = #expect(throws: OpenPGPError.self) { try engine.signDetached([1], by: zed) }
        #expect(none?.code == .noSecretKey)
    }
}
