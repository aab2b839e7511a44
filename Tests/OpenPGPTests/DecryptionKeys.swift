import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// A key for each algorithm that messages are decrypted for without gpg.
struct DecryptionKeys: Sendable {
    static let names = [
        "rsa2048", "rsa3072", "rsa4096", "elg2048", "cv25519", "nistp256", "nistp384", "nistp521",
        "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1",
    ]
    static let shared = Result { try DecryptionKeys() }
    let home: TestHome
    let engine: OpenPGPEngine
    let gpg: OpenPGPEngine
    private let keys: [String: Fingerprint]

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
        engine = try home.engine
        // gpg computes its trust database when it is first asked after a change; until it has, its keyring is not as it was
        // when the keys were learnt, and messages are left to it.
        try home.gpg(["--check-trustdb"])
        gpg = OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)
    }

    subscript(name: String) -> Fingerprint {
        get throws { try #require(keys[name]) }
    }

    /// What gpg makes of a plaintext.
    func encrypt(_ plaintext: [UInt8], to names: [String], _ options: [String] = []) throws -> [UInt8] {
        let recipients = try names.flatMap { ["-r", try self[$0].description] }
        return try home.gpg(["-e", "--always-trust"] + recipients + options, input: plaintext)
    }

    /// A message of its own for that cipher, whose session key is used for others.
    func sealed(_ cipher: String = "AES256") throws -> SealedPackets {
        try SealedPackets(
            like: try encrypt([1], to: ["cv25519"], ["--cipher-algo", cipher, "--force-mdc"]), engine)
    }

    /// Both ways give just this.
    /// - Parameter isDirect: whether it takes no gpg.
    func expectBoth(
        _ message: [UInt8], _ plaintext: [UInt8], isDirect: Bool = true, _ what: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let limit = max(plaintext.count, 1)
        let direct = try engine.decryptDirectly(message, DecryptionRequest(limit: limit))
        #expect(
            isDirect ? direct.map { $0.plaintext.array == plaintext } == true : direct == nil,
            "directly, \(what)", sourceLocation: location)
        for (way, engine) in [("whole", engine), ("gpg", gpg)] where way == "gpg" || !isDirect {
            let found = try engine.decrypt(message, limit: limit).array
            #expect(found == plaintext, "\(way), \(what)", sourceLocation: location)
        }
    }
}

extension OpenPGPEngine {
    /// What is decrypted without gpg; nil where that is left to gpg.
    func decryptDirectly(_ message: [UInt8], _ request: DecryptionRequest) throws(OpenPGPError) -> Decrypted?
    {
        guard let direct = try decryption as? DirectDecryptor else { return nil }
        return try message.withBytes { (bytes) throws(OpenPGPError) in
            try direct.directly(bytes, request, GnuPG.bounds(of: request))
        }
    }
}
