import Glibc
import Synchronization
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// A GnuPG home with its own agent; removed, and the agent ended, when the process ends.
final class TestHome: Sendable {
    let directory: TemporaryDirectory
    var path: String { directory.path }

    private static let all = Mutex<[TestHome]>([])
    private static let cleanUp: Void = {
        atexit { TestHome.all.withLock { $0 }.forEach { $0.remove() } }
    }()

    init(agent: String = "", configuration: String = "") throws {
        directory = try TemporaryDirectory()
        // Without a count, an agent measures for seconds how often it can hash, before it protects a key.
        try File.write("allow-loopback-pinentry\ns2k-count 65536\n\(agent)\n", to: "\(path)/gpg-agent.conf")
        try File.write(configuration, to: "\(path)/gpg.conf")
        Self.cleanUp
        Self.all.withLock { $0.append(self) }
    }

    func remove() {
        _ = try? Program.run("gpgconf", ["--homedir", path, "--kill", "all"], seconds: 10)
        directory.remove()
    }

    var engine: OpenPGPEngine {
        get throws {
            let engine = OpenPGPEngine(home: FilePath(path))
            try engine.prepare()
            return engine
        }
    }

    /// Runs gpg in this home; throws when it fails.
    @discardableResult
    func gpg(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        let result = try Program.run(
            "gpg", ["--homedir", path, "--batch", "--quiet"] + arguments, input: input)
        guard result.status == 0 else { throw Failed(description: "gpg \(arguments): \(result.errors)") }
        return result.output
    }

    /// Makes a key; gives its fingerprint.
    @discardableResult
    func makeKey(
        _ userID: String, _ algorithm: String = "future-default", usage: String = "default",
        expires: String = "never",
        passphrase: String = "", at date: String? = nil
    ) throws -> Fingerprint {
        let clock = date.map { ["--faked-system-time", $0] } ?? []
        let output = try gpg(
            clock + [
                "--status-fd", "1", "--pinentry-mode", "loopback", "--passphrase", passphrase,
                "--quick-gen-key", "--yes",
                userID, algorithm, usage, expires,
            ])
        let created = String(decoding: output, as: UTF8.self).split(separator: "\n")
            .first { $0.contains("KEY_CREATED") }
        return try #require(created.flatMap { Fingerprint(String($0.split(separator: " ")[3])) })
    }

    /// Encrypts as pass does: from a pipe, with its options.
    func passEncrypt(_ plaintext: [UInt8], to recipients: [String]) throws -> [UInt8] {
        try gpg(
            ["-e"] + recipients.flatMap { ["-r", $0] }
                + ["--yes", "--compress-algo=none", "--no-encrypt-to", "--always-trust"],
            input: plaintext)
    }
}

/// The keys that most tests share: making them is what costs time.
struct Keys: Sendable {
    let home: TestHome
    let ann: Fingerprint
    /// Ann's second subkey for encryption, the older one is first in the keyring.
    let annNewer: Fingerprint
    let annOlder: Fingerprint
    let bob: Fingerprint
    let joann: Fingerprint
    let expired: Fingerprint
    let revoked: Fingerprint
    let disabled: Fingerprint
    let signOnly: Fingerprint
    let twinOlder: Fingerprint
    let twinNewer: Fingerprint

    static let shared = Result { try Keys() }

    private init() throws {
        home = try TestHome(
            configuration: "group Team = ann@example.org bob@example.org\ngroup nobody = nobody@example.org\n"
        )
        joann = try home.makeKey("Joann <joann@example.org>")
        ann = try home.makeKey("Ann <ann@example.org>", at: "20200101T000000")
        try home.gpg([
            "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", ann.description, "cv25519",
            "encr",
            "never",
        ])
        bob = try home.makeKey("Bob <bob@example.org>", "rsa2048")
        try home.gpg([
            "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", bob.description, "rsa2048",
            "encr",
            "never",
        ])
        expired = try home.makeKey("Eve <eve@example.org>", expires: "1y", at: "20200101T000000")
        revoked = try home.makeKey("Rex <rex@example.org>")
        let certificate = try File.read("\(home.path)/openpgp-revocs.d/\(revoked).rev")
        let text = String(decoding: certificate, as: UTF8.self)
        // gpg puts a colon before the certificate, so that nobody revokes by accident.
        let begin = try #require(text.firstRange(of: ":-----BEGIN"))
        try home.gpg(["--import"], input: Array(text[text.index(after: begin.lowerBound)...].utf8))
        disabled = try home.makeKey("Dis <dis@example.org>")
        try home.gpg(
            ["--command-fd", "0", "--edit-key", disabled.description], input: Array("disable\nquit\n".utf8))
        signOnly = try home.makeKey("Sig <sig@example.org>", "ed25519", usage: "sign")
        twinNewer = try home.makeKey("Twin <twin@example.org>", at: "20220101T000000")
        twinOlder = try home.makeKey("Twin <twin@example.org>", at: "20210101T000000")

        let key = try #require(try home.engine.keys(matching: [ann.description], secretOnly: false).first)
        let subkeys = key.subkeys.filter(\.canEncrypt).sorted { $0.created < $1.created }
        annOlder = try #require(subkeys.first).fingerprint
        annNewer = try #require(subkeys.last).fingerprint
    }
}

extension SecretBytes {
    /// For comparing in tests.
    var array: [UInt8] { withUnsafeBytes { Array($0) } }
}

/// A secret from an array, for tests.
func secret(_ bytes: [UInt8]) throws -> SecretBytes {
    try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
}

func secret(_ text: String) throws -> SecretBytes { try secret(Array(text.utf8)) }

extension OpenPGPEngine {
    /// What is encrypted without gpg; nil where that is left to gpg.
    func encryptDirectly(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel, at now: Int64
    ) -> [UInt8]? {
        ((try? encryption) as? DirectEncryptor)?.directly(plaintext, to: recipients, trust: trust, at: now)
    }
}
