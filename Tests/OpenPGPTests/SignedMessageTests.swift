import SystemPackage
import Testing

@testable import OpenPGP

/// Signatures inside a message: who signed is not looked at, but a text is given only where gpg finds nothing wrong with it.
@Suite struct SignedMessageTests {
    private let home: TestHome
    private let sealed: SealedPackets
    private let engines: [(String, OpenPGPEngine)]
    private let text = (0..<3000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 5) }
    /// The signer's own home, whose public key is not known here.
    private let signer: TestHome
    private let key: Fingerprint

    init() throws {
        home = try TestHome()
        let ann = try home.makeKey("Ann <ann@example.org>")
        engines = [
            ("direct", try home.engine),
            ("gpg", OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)),
        ]
        sealed = try SealedPackets(like: try home.passEncrypt([1], to: [ann.description]), engines[0].1)
        signer = try TestHome()
        key = try signer.makeKey("Sig <sig@example.org>", "ed25519", usage: "sign", at: "20240101T000000")
    }

    /// A signature's announcement, the text, the signature.
    private func packets(_ options: [String] = []) throws -> [[UInt8]] {
        let signed = try signer.gpg(["--sign", "--compress-algo", "none"] + options, input: text)
        return try signed.withUnsafeBytes { bytes in
            var packets: [[UInt8]] = []
            var end = 0
            while end < bytes.count {
                let packet = try #require(WholePacket(bytes, in: end..<bytes.count))
                packets.append(Array(bytes[end..<packet.end]))
                end = packet.end
            }
            try #require(packets.count == 3)
            return packets
        }
    }

    /// gpg ends so, and both ways give the text or say that it is damaged.
    private func expect(_ inside: [UInt8], exit: Int32, isText: Bool, _ what: String) throws {
        let message = try sealed.message(inside)
        let said = try Program.run("gpg", ["--homedir", home.path, "--batch", "-qd"], input: message)
        #expect(said.status == exit, "\(what): \(said.errors)")
        for (way, engine) in engines {
            do throws(OpenPGPError) {
                let plaintext = try engine.decrypt(message, limit: 1 << 20).array
                #expect(isText && plaintext == text, "\(way), \(what): \(plaintext.count) bytes")
            } catch { #expect(error.code == .corrupt && !isText, "\(way), \(what): \(error)") }
        }
    }

    /// The text's last part, whose length is known, is missing; gpg cuts after 8192 octets, so we cut ourselves.
    private func cut(_ literal: [UInt8]) throws -> [UInt8] {
        let packet = try #require(literal.withUnsafeBytes { WholePacket($0, in: 0..<$0.count) })
        let body = packet.parts.flatMap { literal[$0] }
        return [0xcb, 0xe9] + body.prefix(512)
    }

    @Test func aSignerWhoIsNotKnownIsNoError() throws {
        let parts = try packets()
        try expect(parts.joined().map(\.self), exit: 2, isText: true, "unknown signer")
        try expect(
            parts[0] + (try cut(parts[1])), exit: 2, isText: false, "unknown signer, cut")
        try expect(parts.joined() + [0xcb], exit: 2, isText: false, "unknown signer, a packet that is cut")
        try expect(
            parts.joined() + parts[1], exit: 2, isText: false, "unknown signer, another text")
    }

    @Test func aBadSignatureIsAnError() throws {
        try home.gpg(["--import"], input: try signer.gpg(["--export"]))
        let parts = try packets()
        try expect(parts.joined().map(\.self), exit: 0, isText: true, "known signer")
        var other = parts[1]
        other[other.count - 7] ^= 1
        try expect(parts[0] + other + parts[2], exit: 1, isText: false, "bad signature")
    }

    @Test func aSignatureThatRanOutIsNoError() throws {
        try home.gpg(["--import"], input: try signer.gpg(["--export"]))
        let parts = try packets(["--faked-system-time", "20240201T000000", "--default-sig-expire", "2d"])
        try expect(parts.joined().map(\.self), exit: 1, isText: true, "signature that ran out")
    }
}
