import Glibc
import System
import SystemPackage
import Testing

@testable import OpenPGP

/// Messages that are damaged in every packet, decrypted without gpg: nothing crashes, nothing comes out that fails its
/// check, and what comes out is what gpg makes of it.
///
/// `PASSDIR_SOAK` says how many; a hundredth of them is shown to gpg, too. The seed is printed; `PASSDIR_MUTATION_SEED` takes
/// one.
@Suite struct DirectMutationTests {
    private static let count = number("PASSDIR_SOAK") ?? 2000
    private static let seed = number("PASSDIR_MUTATION_SEED") ?? Int.random(in: 1...999_999_999)

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    private let home: TestHome
    private let engine: OpenPGPEngine
    private let plaintext = Array("user: ann\npassword: open sesame\n".utf8)
    private let message: [UInt8]
    private let sealed: SealedPackets
    /// Messages of the same plaintext.
    private var whole: [[UInt8]] = []
    /// What can be inside of one.
    private var inside: [[UInt8]] = []

    init() throws {
        home = try TestHome()
        let ann = try home.makeKey("Ann <ann@example.org>").description
        let bob = try home.makeKey("Bob <bob@example.org>", "rsa2048")
        try home.addSubkey("rsa2048", to: bob)
        engine = try home.engine
        message = try home.passEncrypt(plaintext, to: [ann])
        sealed = try SealedPackets(like: message, engine)
        for options in [
            ["--compress-algo", "none"], [], ["--armor"], ["--cipher-algo", "3DES", "--force-mdc"],
        ] {
            whole.append(
                try home.gpg(
                    ["-e", "--always-trust", "-r", ann, "-r", bob.description] + options, input: plaintext))
        }
        let long = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) }
        for text in [plaintext, long] {
            for compression in ["none", "zip", "zlib"] {
                inside.append(try home.gpg(["--store", "--compress-algo", compression], input: text))
            }
        }
        whole.append(contentsOf: try authenticated(ann))
    }

    /// Messages with GnuPG's packet of authenticated encryption.
    private func authenticated(_ recipient: String) throws -> [[UInt8]] {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let path = "\(folder.path)/message"
        try File.write(message, to: path)
        let session = try sealed.key.copy()
        let digits = session.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        mkdir("\(folder.path)/made", 0o700)
        let script = FilePath(#filePath).removingLastComponent().appending("Programs/damaged.py").string
        let made = try Program.run("python3", [script, path, "9:\(digits)", "\(folder.path)/made"])
        try #require(made.status == 0, "\(made.errors)")
        return try ["good-authenticated", "good-authenticated-long"].map {
            try File.read("\(folder.path)/made/\($0)")
        }
    }

    @Test func whatIsDamagedIsNeverWrong() throws {
        defer { home.remove() }
        print("mutations: \(Self.count), seed \(Self.seed)")
        var random = Mutator(state: UInt64(Self.seed))
        let gpg = OpenPGPEngine(home: FilePath(home.path), encryption: .gpg)
        let expected = try whole.map { try gpg.decrypt($0, limit: 1 << 20).array }
        var (decrypted, compared) = (0, 0)
        for round in 0..<Self.count {
            let isInside = round % 2 == 0
            let place = random.below(isInside ? inside.count : whole.count)
            let input =
                isInside
                ? try sealed.message(random.mutated(inside[place], inside))
                : random.mutated(whole[place], whole)
            let request = DecryptionRequest(limit: 1 << 20, mayAsk: random.below(8) != 0)
            var found: [UInt8]?
            do throws(OpenPGPError) {
                found = try engine.decryptDirectly(input, request)?.plaintext.array
            } catch {
                // Whoever may ask nobody has little time.
                #expect(error.code == .timedOut && !request.mayAsk, "\(round): \(error)")
            }
            if let found {
                decrypted += 1
                if !isInside { #expect(expected.contains(found), "\(round)") }
            }
            // Odd, so that both kinds are shown.
            guard round % 99 == 0 || found != nil && (decrypted <= 40 || decrypted % 100 == 0) else {
                continue
            }
            compared += 1
            try compare(input, found, "\(round)")
        }
        print("mutations: \(decrypted) decrypted, \(compared) shown to gpg")
        #expect(decrypted > Self.count / 100)
    }

    /// Both ways give what gpg gives, or nothing where gpg fails.
    private func compare(_ input: [UInt8], _ found: [UInt8]?, _ what: String) throws {
        let said = try Program.run(
            "gpg", ["--homedir", home.path, "--batch", "--status-fd", "2", "-d"], input: input)
        if let found { #expect(said.status == 0 && said.output == found, "directly, \(what)") }
        for way in [EncryptionWay.direct, .gpg] {
            let engine = OpenPGPEngine(home: FilePath(home.path), encryption: way)
            do throws(OpenPGPError) {
                let plaintext = try engine.decrypt(input, limit: 1 << 20).array
                #expect(said.status == 0 && said.output == plaintext, "\(way), \(what): \(said.errors)")
            } catch {
                // Where the encrypted data is gone, gpg is content with nothing.
                #expect(
                    said.status != 0 || !said.errors.contains("DECRYPTION_OKAY"), "\(way), \(what): \(error)")
            }
        }
    }
}

/// Damages bytes; the same seed damages the same (SplitMix64).
private struct Mutator {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((word ^ word >> 31) % UInt64(max(bound, 1)))
    }

    /// One to three wounds, most often near the front, where packets say what they are.
    mutating func mutated(_ bytes: [UInt8], _ others: [[UInt8]]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...below(3) {
            let place = below(below(3) == 0 ? bytes.count : min(bytes.count, 24))
            let run = place..<min(bytes.count, place + 1 + below(below(4) == 0 ? bytes.count : 6))
            guard !run.isEmpty else { continue }
            switch below(8) {
            case 0, 1: bytes[place] ^= 1 << UInt8(below(8))
            case 2: bytes[place] = [0, 1, 0x7f, 0x80, 0xbf, 0xc0, 0xe0, 0xef, 0xfe, 0xff][below(10)]
            case 3: bytes.removeSubrange(run)
            case 4: bytes.insert(contentsOf: bytes[run], at: place)
            case 5: bytes.insert(UInt8(below(256)), at: place)
            case 6: bytes.removeLast(below(bytes.count))
            default:
                let other = others[below(others.count)]
                bytes = Array(bytes.prefix(place) + other.dropFirst(below(other.count)))
            }
        }
        return bytes
    }
}
