import SystemPackage
import Testing

@testable import OpenPGP

/// Files that another program writes: `sq` of Sequoia, with the options that it has in Debian 12.
@Suite(.enabled(if: Sequoia.isThere, "there is no sq, or one with other options")) struct SequoiaTests {
    private let keys: DecryptionKeys

    init() throws { keys = try DecryptionKeys.shared.get() }

    private func sq(_ arguments: [String], _ input: [UInt8] = []) throws -> [UInt8] {
        let made = try Program.run("sq", arguments, input: input)
        try #require(made.status == 0, "\(made.errors)")
        return made.output
    }

    /// It knows neither ElGamal nor Brainpool. It pads within compressed data, so that gpg has to judge; what is empty is
    /// not padded.
    @Test(arguments: ["rsa2048", "rsa3072", "rsa4096", "cv25519", "nistp256", "nistp384", "nistp521"])
    func everyKindOfKey(name: String) throws {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        try File.write(try keys.engine.exportKeys([try keys[name]]), to: "\(folder.path)/cert")
        for options in [
            ["none"], ["none", "--binary"], ["zip"], ["zlib", "--binary"], ["bzip2"], ["pad"],
        ] {
            // The key makes no difference to the rest.
            for size in name == "cv25519" ? [0, 100, 100_000] : [100] {
                let plaintext = (0..<size).map { _ in UInt8.random(in: 0...255) }
                let message = try sq(
                    ["encrypt", "--recipient-cert", "\(folder.path)/cert", "--compression"] + options,
                    plaintext)
                try keys.expectBoth(
                    message, plaintext, isDirect: options != ["bzip2"] && (options != ["pad"] || size == 0),
                    "\(name) \(options) \(size)")
            }
        }
    }

    /// Its own keys, several of them; large files; a signature by somebody who is not known.
    @Test func keysOfItsOwn() throws {
        let home = try TestHome()
        defer { home.remove() }
        var recipients: [String] = []
        for (number, suite) in ["cv25519", "rsa3k"].enumerated() {
            let path = "\(home.path)/\(number)"
            _ = try sq(["key", "generate", "-c", suite, "-u", "A\(number)", "-e", "\(path).key"])
            try home.gpg(["--import", "\(path).key"])
            try File.write(
                try sq(["key", "extract-cert", "\(path).key"]), to: "\(path).cert")
            recipients += ["--recipient-cert", "\(path).cert"]
        }
        let engines = [
            try home.engine, OpenPGPEngine(home: FilePath(home.path), encryption: .gpg),
        ]
        let plaintext = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 9) }
        for some in [recipients, Array(recipients.prefix(2)), Array(recipients.suffix(2))] {
            let message = try sq(["encrypt", "--compression", "none"] + some, plaintext)
            let direct = try engines[0].decryptDirectly(message, DecryptionRequest(limit: plaintext.count))
            #expect(direct?.plaintext.array == plaintext)
            for engine in engines {
                #expect(try engine.decrypt(message, limit: plaintext.count).array == plaintext)
            }
        }
        _ = try sq(["key", "generate", "-u", "Sig", "-e", "\(home.path)/signer.key"])
        let signed = try sq(
            ["encrypt", "--compression", "none", "--signer-key", "\(home.path)/signer.key"] + recipients,
            plaintext)
        for engine in engines {
            #expect(try engine.decrypt(signed, limit: plaintext.count).array == plaintext)
        }
    }
}

private enum Sequoia {
    static let isThere: Bool = {
        let help = try? Program.run("sq", ["encrypt", "--help"])
        return help.map { String(decoding: $0.output, as: UTF8.self).contains("--recipient-cert") } == true
    }()
}
