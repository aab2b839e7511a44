import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import OpenPGP

/// A key for each algorithm that is encrypted to without gpg: a primary key that signs, a subkey of the algorithm.
private struct AlgorithmKeys: Sendable {
    static let names = ["rsa2048", "rsa3072", "rsa4096", "cv25519", "nistp256", "nistp384", "nistp521"]
    static let shared = Result { try AlgorithmKeys() }
    let home: TestHome
    let keys: [String: Fingerprint]

    private init() throws {
        home = try TestHome()
        var keys: [String: Fingerprint] = [:]
        for name in Self.names {
            let key = try home.makeKey("\(name) <\(name)@example.org>", "ed25519", usage: "sign")
            try home.addSubkey(name, to: key)
            keys[name] = key
        }
        self.keys = keys
    }
}

extension TestHome {
    /// Adds a subkey for encryption.
    func addSubkey(_ algorithm: String, to key: Fingerprint, expires: String = "never") throws {
        try gpg([
            "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", key.description, algorithm,
            "encr", expires,
        ])
    }
}

/// What is encrypted without gpg, as gpg sees it.
@Suite struct DirectMessageTests {
    private let keys: AlgorithmKeys
    let engine: OpenPGPEngine

    init() throws {
        keys = try AlgorithmKeys.shared.get()
        engine = try keys.home.engine
    }

    func recipients(_ names: [String]) throws -> [Recipient] {
        try names.flatMap { try engine.resolve(try #require(keys.keys[$0]).description) }
    }

    func direct(_ plaintext: [UInt8], to names: [String]) throws -> [UInt8] {
        try #require(
            try engine.encryptDirectly(
                secret(plaintext), to: recipients(names), trust: .always, at: Int64(time(nil))))
    }

    /// Has one gpg decrypt all messages; gives what came out.
    func decrypt(_ messages: [[UInt8]]) throws -> [[UInt8]] {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        for (index, message) in messages.enumerated() {
            try File.write(message, to: "\(folder.path)/\(index).gpg")
        }
        let files = messages.indices.map { "\(folder.path)/\($0).gpg" }
        let result = try Program.run(
            "gpg", ["--homedir", keys.home.path, "--batch", "--quiet", "--multifile", "--decrypt"] + files,
            seconds: 300)
        guard result.status == 0 else { throw Failed(description: result.errors) }
        return try messages.indices.map { try File.read("\(folder.path)/\($0)") }
    }

    static let sizes = [
        0, 1, 2, 15, 16, 17, 100, 148, 149, 150, 185, 186, 191, 192, 193, 471, 472, 511, 512, 1024, 8335,
        8336, 8377,
        8378, 8383, 8384, 8385, 65_536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
    ]

    @Test(arguments: sampled(AlgorithmKeys.names))
    func gpgDecryptsEverySize(algorithm: String) throws {
        let plaintexts = Self.sizes.map { size in (0..<size).map { _ in UInt8.random(in: 0...255) } }
        let messages = try plaintexts.map { try direct($0, to: [algorithm]) }
        #expect(try decrypt(messages) == plaintexts)
        for (message, plaintext) in zip(messages, plaintexts) {
            let predicted = try Packets.predictPlaintextSize(fileSize: Int64(message.count)) {
                (offset, count) throws(Errno) in
                Array(message[Int(offset)..<min(message.count, Int(offset) + count)])
            }
            #expect(predicted == Int64(plaintext.count))
        }
    }

    /// Numbers with leading zeros are where a mistake would lose a secret, one time in 256.
    @Test(
        .slow,
        arguments: [
            ("cv25519", 2000), ("nistp256", 2000), ("nistp384", 300), ("nistp521", 300), ("rsa2048", 600),
        ])
    func gpgDecryptsEveryOneOfMany(algorithm: String, rounds: Int) throws {
        let plaintexts = (0..<rounds).map { Array("secret \($0)\n".utf8) }
        let messages = try plaintexts.map { try direct($0, to: [algorithm]) }
        #expect(try decrypt(messages) == plaintexts)
        // A message is as long as its recipients make it, but for RSA's leading zeros.
        if !algorithm.hasPrefix("rsa") {
            #expect(Set(zip(messages, plaintexts).map { $0.count - $1.count }).count == 1)
        }
    }

    @Test func everyRecipientOfSeveralDecrypts() throws {
        for names in [["cv25519", "rsa2048"], ["nistp521", "rsa4096", "cv25519"], AlgorithmKeys.names] {
            let plaintext = (0..<300).map { _ in UInt8.random(in: 0...255) }
            let message = try direct(plaintext, to: names)
            let subkeys = try recipients(names).map { try #require($0.encryptionSubkey(at: 1 << 40)) }
            #expect(Packets.recipientKeyIDs(in: message) == subkeys.map(\.keyID))
            let (packets, rest) = parts(of: message)
            // With one session key packet only, that very recipient's key must do.
            for packet in packets { #expect(try decrypt([packet + rest]) == [plaintext]) }
        }
    }

    /// The session key packets, and what follows them.
    private func parts(of message: [UInt8]) -> ([[UInt8]], [UInt8]) {
        var packets: [[UInt8]] = []
        var rest = message[...]
        while let first = rest.first, first == 0x84 || first == 0x85 {
            let start = rest.startIndex
            let length =
                first == 0x84
                ? 2 + Int(rest[start + 1]) : 3 + Int(rest[start + 1]) << 8 + Int(rest[start + 2])
            packets.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return (packets, Array(rest))
    }

    /// The packets of gpg, of us: the same but for numbers and the form of lengths.
    @Test func thePacketsAreGpgs() throws {
        let names = ["cv25519", "rsa2048", "nistp256"]
        let gpg = OpenPGPEngine(home: FilePath(keys.home.path), encryption: .gpg)
        #expect(!(try gpg.encryption is DirectEncryptor))
        for size in [5, 250, 20_000] {
            let plaintext = [UInt8](repeating: 7, count: size)
            let theirs = try gpg.encrypt(secret(plaintext), to: recipients(names))
            let ours = try direct(plaintext, to: names)
            #expect(try listing(ours) == listing(theirs))
            if size < 400 { #expect(ours.count == theirs.count || names.contains("rsa2048")) }
        }
    }

    /// What `gpg --list-packets` says, without what is random, the date, and where packets lie.
    private func listing(_ message: [UInt8]) throws -> [String] {
        let text = String(
            decoding: try keys.home.gpg(["-vv", "--list-packets"], input: message), as: UTF8.self)
        return text.split(separator: "\n").map(String.init).compactMap { line in
            if line.hasPrefix("# off=") {
                return line.split(separator: " ").filter { $0.hasPrefix("ctb=") || $0.hasPrefix("tag=") }
                    .joined(separator: " ")
            }
            if line.contains("data:") { return String(line.prefix { $0 != ":" }) }
            if line.contains("length:") { return nil }
            if let range = line.firstRange(of: "created ") {
                let rest = line[range.upperBound...]
                let date = rest.prefix { $0.isNumber }
                guard let seconds = Int64(date), abs(seconds - Int64(time(nil))) < 100 else { return line }
                return String(line[..<range.upperBound]) + rest.drop { $0.isNumber }
            }
            // gpg leaves the raw data of a literal packet out where it does not know its length.
            return line.contains("raw data") ? nil : line
        }
    }

    @Test func theWholeEngineTakesTheDirectWay() throws {
        let message = try engine.encrypt(secret("x"), to: recipients(["cv25519"]))
        // The message does not show who wrote it; that nothing was started is told by comparing with gpg, in turns.
        let gpg = OpenPGPEngine(home: FilePath(keys.home.path), encryption: .gpg)
        let list = try recipients(["cv25519"])
        let clock = ContinuousClock()
        var ours = Duration.zero
        var theirs = Duration.zero
        for _ in 0..<20 {
            ours += try clock.measure { _ = try engine.encrypt(secret("x"), to: list) }
            theirs += try clock.measure { _ = try gpg.encrypt(secret("x"), to: list) }
        }
        #expect(ours * 2 < theirs)
        #expect(try decrypt([message]) == [Array("x".utf8)])
    }

    @Test func aDamagedMessageIsNoticed() throws {
        var message = try direct(Array("secret".utf8), to: ["cv25519"])
        message[message.count - 30] ^= 1
        #expect(throws: Failed.self) { try decrypt([message]) }
    }

    @Test func manyThreadsAtOnce() throws {
        let list = try recipients(["cv25519", "rsa2048"])
        let engine = engine
        let plaintext = try secret("parallel")
        let messages = Messages()
        let ended = try Wakeups()
        for _ in 0..<16 {
            try PosixThread.start(named: "test") {
                for _ in 0..<20 {
                    if let message = try? engine.encrypt(plaintext, to: list) { messages.add(message) }
                }
                ended.add()
            }
        }
        #expect(ended.wait(for: 16, seconds: 60))
        #expect(messages.all.count == 320)
        #expect(try decrypt(messages.all) == Array(repeating: Array("parallel".utf8), count: 320))
    }
}
