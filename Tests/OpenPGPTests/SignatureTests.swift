import SystemPackage
import Testing

@testable import OpenPGP

@Suite struct SignatureTests {
    let keys: Keys
    let engine: GnuPG

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
