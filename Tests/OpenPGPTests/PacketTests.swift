import SystemPackage
import Testing

@testable import OpenPGP

@Suite struct PacketTests {
    let keys: Keys
    let engine: OpenPGPEngine

    init() throws {
        keys = try Keys.shared.get()
        engine = try keys.home.engine
    }

    static func size(_ message: [UInt8]) -> PlaintextSize? {
        try? Packets.plaintextSize(fileSize: Int64(message.count)) { offset, count in
            Array(message[Int(offset)..<min(message.count, Int(offset) + count)])
        }
    }

    /// Every boundary of the length encodings, of the parts that gpg cuts, and steps between.
    static let sizes: [Int] = {
        let boundaries =
            [185, 191, 192, 505, 511, 512, 1017, 1023, 1024, 2040, 4088, 8185, 8191, 8192, 8383, 8384]
            + [16_378, 16_384, 65_529, 65_535, 65_536, 70_000, 131_072, 1_048_570, 1_048_576]
        let around = boundaries.flatMap { [$0 - 1, $0, $0 + 1, $0 + 2] }
        return Array(Set(around + Array(stride(from: 0, through: 70_000, by: 1609)) + [0, 1, 2, 40])).sorted()
    }()

    /// Where no two sizes give the same packets the prediction is exact, elsewhere a little low and said to be unsure.
    private func check(_ size: Int, _ message: [UInt8]) {
        guard let predicted = Self.size(message) else {
            Issue.record("nothing predicted for \(size)")
            return
        }
        let lengths = PartialLengths(buffer: 8192)
        let fits = lengths.bodies(ofPacket: lengths.packetSize(Int64(size) + 6)).map { $0 - 6 }
        #expect(predicted == PlaintextSize(value: fits[0], isExact: fits.count == 1), "\(size)")
        #expect(fits.contains(Int64(size)) && Int64(size) - fits[0] <= 4)
    }

    @Test func sizesOfWhatPassWrites() throws {
        for size in Self.sizes {
            check(
                size, try keys.home.passEncrypt([UInt8](repeating: 65, count: size), to: ["ann@example.org"]))
        }
    }

    @Test func sizesOfWhatGpgWritesForUs() throws {
        let engine = OpenPGPEngine(home: engine.home, encryption: .gpg)
        let ann = try engine.resolve("ann@example.org")
        for size in Self.sizes {
            check(size, try engine.encrypt(secret([UInt8](repeating: 65, count: size)), to: ann))
        }
    }

    /// Lengths are told by what we write, so that nothing is ambiguous.
    @Test func sizesOfWhatWeWrite() throws {
        let ann = try engine.resolve("ann@example.org")
        for size in Self.sizes + Array(0..<2200) {
            let message = try engine.encrypt(secret([UInt8](repeating: 65, count: size)), to: ann)
            #expect(Self.size(message)?.value == Int64(size))
        }
    }

    @Test(arguments: [["bob@example.org"], ["bob@example.org", "ann@example.org", "joann@example.org"]])
    func sizesForOtherRecipients(recipients: [String]) throws {
        for size in [0, 1, 500, 8192, 70_000] {
            check(size, try keys.home.passEncrypt([UInt8](repeating: 65, count: size), to: recipients))
        }
    }

    @Test func ambiguousSizesAreFewAndNear() {
        let lengths = PartialLengths(buffer: 8192)
        var bySize: [Int64: [Int64]] = [:]
        for body in Int64(6)..<70_006 { bySize[lengths.packetSize(body), default: []].append(body) }
        for (size, bodies) in bySize {
            #expect(lengths.bodies(ofPacket: size).filter { (6..<70_006).contains($0) } == bodies)
        }
        let ambiguous = bySize.values.filter { $0.count > 1 }
        #expect(ambiguous.count == 127)
        #expect(ambiguous.allSatisfy { $0.count == 2 && $0[1] - $0[0] <= 4 && $0[0] >= 1023 })
    }

    @Test func recipientsAreReadFromThePackets() throws {
        let message = try keys.home.passEncrypt([1], to: ["bob@example.org", "ann@example.org"])
        let bob = try #require(try engine.resolve("bob@example.org").first)
        let ids = Packets.recipientKeyIDs(in: message)
        #expect(ids.count == 2)
        #expect(ids.contains(keys.annNewer.keyID))
        #expect(ids.contains(where: bob.possibleKeyIDs.contains))
        #expect(Packets.recipientKeyIDs(in: Array("text".utf8)).isEmpty)
        let hidden = try keys.home.gpg(["-e", "-R", keys.ann.description, "--always-trust"], input: [1])
        #expect(Packets.recipientKeyIDs(in: hidden) == [0])
    }

    @Test func onlyTheHeadersAreRead() throws {
        let message = try keys.home.passEncrypt(
            [UInt8](repeating: 65, count: 1_000_000), to: ["ann@example.org"])
        var octets = 0
        let size = try Packets.plaintextSize(fileSize: Int64(message.count)) { offset, count in
            octets += count
            return Array(message[Int(offset)..<min(message.count, Int(offset) + count)])
        }
        #expect(size?.value == 1_000_000)
        #expect(octets < 8192)
    }

    @Test func nothingIsSaidOfWhatIsUnknown() throws {
        #expect(Self.size([]) == nil)
        #expect(Self.size(Array("secret".utf8)) == nil)
        let armored = try keys.home.gpg(
            ["-e", "-a", "--compress-algo", "none", "-r", keys.ann.description], input: [1, 2, 3])
        #expect(Self.size(armored)?.value == 3)
        #expect(Self.size(Array(armored.prefix(armored.count / 2))) == nil)
        #expect(Self.size(try keys.home.gpg(["-s", "-u", keys.ann.description], input: [1])) == nil)
    }

    @Test func aFileErrorIsPassedOn() {
        #expect(throws: Errno.ioError) {
            try Packets.plaintextSize(fileSize: 100) { (_, _) throws(Errno) in throw Errno.ioError }
        }
        #expect(throws: Never.self) {
            let answer = try Packets.plaintextSize(fileSize: 100) { (_, _) throws(Errno) in [] }
            #expect(answer == nil)
        }
    }

    @Test func malformedPacketsNeverTrap() throws {
        let message = try keys.home.passEncrypt([UInt8](repeating: 65, count: 3000), to: ["ann@example.org"])
        for length in 0..<message.count {
            let cut = Array(message[..<length])
            #expect(Self.size(cut) == nil)
            #expect(!Packets.isWholeMessage(cut))
            _ = Packets.recipientKeyIDs(in: cut)
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = Array(message[..<200])
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            _ = Self.size(bytes)
            _ = Packets.recipientKeyIDs(in: bytes)
            _ = Packets.isWholeMessage(bytes)
        }
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if !bytes.isEmpty { bytes[0] |= 0x80 }
            _ = Self.size(bytes)
            _ = Packets.recipientKeyIDs(in: bytes)
            _ = Armor.decode(Array("-----BEGIN PGP MESSAGE-----\n\n".utf8) + bytes)
        }
    }
}
