import Glibc
import Stores
import SystemPackage
import TestKit
import Testing

@testable import OpenPGP

/// Messages that are small to send and large, or slow, to look at.
@Suite struct HostileMessageTests {
    /// A message that nobody holds in memory: a pattern that repeats after a beginning, and what was read of it.
    private final class Virtual {
        let size: Int64
        let start: [UInt8]
        let pattern: [UInt8]
        var reads = 0
        var octets = 0

        init(size: Int64, start: [UInt8], pattern: [UInt8]) {
            (self.size, self.start, self.pattern) = (size, start, pattern)
        }

        func read(_ offset: Int64, _ count: Int) -> [UInt8] {
            reads += 1
            octets += count
            return (0..<count).map { index in
                let place = offset + Int64(index)
                if place < Int64(start.count) { return start[Int(place)] }
                return pattern[Int((place - Int64(start.count)) % Int64(pattern.count))]
            }
        }
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        var name: String
        var start: [UInt8]
        var pattern: [UInt8]
        var testDescription: String { name }
    }

    /// Each has a size in the billions; whatever is in it, a look reads a bounded number of windows.
    static let shapes = [
        Shape(name: "parts of one octet", start: [0xd2], pattern: [0xe0, 1]),
        Shape(
            name: "parts of 256 octets", start: [0xd2], pattern: [0xe8] + [UInt8](repeating: 1, count: 256)),
        Shape(
            name: "parts of 512 octets", start: [0xd2], pattern: [0xe9] + [UInt8](repeating: 1, count: 512)),
        Shape(
            name: "parts of 8192 octets", start: [0xd2], pattern: [0xed] + [UInt8](repeating: 1, count: 8192)
        ),
        Shape(name: "empty packets of recipients", start: [], pattern: [0xc1, 0]),
        Shape(name: "empty symmetric packets", start: [], pattern: [0xc3, 0]),
        Shape(name: "markers of the old format", start: [], pattern: [0xa8, 0]),
        Shape(name: "an indeterminate recipient", start: [0x87], pattern: [3]),
        Shape(name: "a length of four octets, again and again", start: [], pattern: [0xff]),
        Shape(name: "recipients", start: [], pattern: [0xc1, 9, 3, 1, 2, 3, 4, 5, 6, 7, 8]),
    ]

    /// Holds:
    /// - Looking at an OpenPGP message reads a bounded part of it, whatever lengths it claims.
    @Test(arguments: shapes, [1 << 24, 1 << 40, .max] as [Int64])
    func aLookIsShort(shape: Shape, size: Int64) throws {
        let message = Virtual(size: size, start: shape.start, pattern: shape.pattern)
        _ = try Packets.plaintextSize(fileSize: size) { message.read($0, $1) }
        #expect(message.reads <= Packets.maximalReads && message.octets <= 1 << 16)
        message.reads = 0
        let ids = try Packets.recipientKeyIDs(fileSize: size) { message.read($0, $1) }
        #expect(ids.isEmpty, "what cannot be read to its end says nothing")
        #expect(message.reads <= 2 * Packets.maximalReads)
    }

    @Test(arguments: shapes)
    func aLookIsShortInMemory(shape: Shape) {
        let count = 16 << 20
        // Doubled, as sixteen million appends of an octet take a debug build seconds.
        var pattern = shape.pattern
        while pattern.count < count { pattern += pattern }
        let bytes = shape.start + pattern
        // The thread's own time: beside other tests a clock on the wall measures those.
        let before = processorTime()
        _ = Packets.recipientKeyIDs(in: bytes)
        _ = bytes.withUnsafeBytes { Packets.recipientKeyIDs(in: $0) }
        let took = processorTime() - before
        // In a debug build; a look at each octet takes a second there.
        #expect(took < 300_000_000, "\(took) ns")
        #expect(!Packets.isWholeMessage(bytes))
    }

    /// A partial length below 512 is malformed (RFC 4880, 4.2.2.4), wherever it stands.
    @Test(arguments: 0..<16) func smallPartsAreMalformed(power: Int) throws {
        let body = 1 + 18 + 22 + 8
        let first = [UInt8(0xd2), 0xe0 | UInt8(power)] + [UInt8](repeating: 1, count: 1 << power)
        let message = first + [UInt8(body)] + [UInt8](repeating: 1, count: body)
        let size = try Packets.plaintextSize(fileSize: Int64(message.count)) {
            Array(message[Int($0)..<min(message.count, Int($0) + $1)])
        }
        #expect((size != nil) == (power >= 9))
        #expect(Packets.isWholeMessage(message) == (power >= 9))
    }

    /// What gpg writes of a secret of gigabytes is predicted from its beginning and its end.
    @Test(arguments: PartialLengths.buffers, [70_000_000, 1 << 33, 1_099_511_628_553] as [Int64])
    func longMessagesArePredicted(buffer: Int64, plaintext: Int64) throws {
        let lengths = PartialLengths(buffer: buffer)
        let body = lengths.packetSize(plaintext + 6) + 41
        let size = lengths.packetSize(body)
        let full = body / buffer
        let tail = Array(lengths.parts(body % buffer))
        var reads = 0
        let predicted = try Packets.plaintextSize(fileSize: size) { offset, count in
            reads += 1
            return (0..<count).map { octet(offset + Int64($0), buffer, full, tail) }
        }
        let value = try #require(predicted?.value)
        #expect(value <= plaintext && value >= plaintext - 8)
        #expect(reads < 200)
    }

    /// The octet at a place of a message of tag 18 in full buffers and a tail.
    private func octet(_ place: Int64, _ buffer: Int64, _ full: Int64, _ tail: [Int64]) -> UInt8 {
        if place == 0 { return 0xd2 }
        var rest = place - 1
        if rest < full * (buffer + 1) {
            return rest % (buffer + 1) == 0 ? 0xe0 | UInt8(buffer.trailingZeroBitCount) : 1
        }
        rest -= full * (buffer + 1)
        for (number, part) in tail.enumerated() {
            let isLast = number == tail.count - 1
            let header: [UInt8] =
                !isLast
                ? [0xe0 | UInt8(part.trailingZeroBitCount)]
                : part < 192 ? [UInt8(part)] : [UInt8((part - 192) >> 8 + 192), UInt8((part - 192) & 255)]
            if rest < Int64(header.count) { return header[Int(rest)] }
            rest -= Int64(header.count)
            if rest < part { return 1 }
            rest -= part
        }
        return 1
    }

    @Test func armourIsReadInOnePass() {
        let head = Array("-----BEGIN PGP MESSAGE-----\n".utf8)
        for filling in ["\n", "\r\n", "A\n", "=\n", "A: b\n\nAAAA\n"] {
            var bytes = head
            while bytes.count < 1 << 20 { bytes += filling.utf8 }
            let before = processorTime()
            _ = Packets.recipientKeyIDs(in: bytes)
            let took = processorTime() - before
            #expect(took < 5_000_000_000, "\(filling.debugDescription): \(took) ns")
        }
    }

    /// A store of the test with a secret that anybody who knows the public key could have pushed.
    private func withStore(
        limit: Int, _ body: (TestHome, Store, FilePath) throws -> Void
    ) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let path = try home.makeStore("s", recipients: [key], git: false).path
            let store = Store(
                name: "s", identifier: "s", root: try Root(path: path),
                engine: OpenPGPEngine(home: home.path("gnupg")),
                options: Store.Options(secretLimit: limit, promptTimeout: .seconds(60)), learned: nil)
            try body(home, store, path)
        }
    }

    /// 256 MB that compress to a few kilobytes: gpg's output is cut off at the limit, and gpg is gone.
    ///
    /// Holds:
    /// - Decrypting stops at `limits.secret`, however far a message would expand.
    @Test(.slow) func compressionBombsAreCutOff() throws {
        try withStore(limit: 1 << 20) { home, store, path in
            try home.succeed([
                "sh", "-c",
                "head -c 256000000 /dev/zero | gpg --batch --trust-model always --compress-algo zlib -z 9 -e "
                    + "-r a@example.org -o \(path.appending("bomb.gpg"))",
            ])
            let error = #expect(throws: StoreError.self) {
                _ = try store.plaintext(of: "bomb.gpg", cancellation: nil)
            }
            #expect(error?.code == .tooLarge && error?.message.contains("larger") == true)
            try home.waitUntil("gpg is gone") {
                try home.run(["pgrep", "-f", "gpg.*\(home.path("gnupg"))\\b.*--decrypt"]).exitCode != 0
            }
        }
    }

    /// A ciphertext beyond the limit is refused by its size: nothing of it is read.
    @Test func hugeCiphertextsAreNotRead() throws {
        try withStore(limit: 1 << 20) { home, store, path in
            try home.succeed(["truncate", "-s", "1T", path.appending("huge.gpg").string])
            try home.succeed([
                "sh", "-c", "printf -- - | dd of=\(path)/armour.gpg && truncate -s 1T \(path)/armour.gpg",
            ])
            for name in ["huge.gpg", "armour.gpg"] {
                let error = #expect(throws: StoreError.self) {
                    _ = try store.plaintext(of: FilePath(name), cancellation: nil)
                }
                #expect(error?.code == .tooLarge && error?.message.contains("limits.secret") == true)
                #expect(
                    store.knownSize(of: FilePath(name), status: try store.root.status(of: FilePath(name)))
                        == 0)
            }
            let error = #expect(throws: StoreError.self) { _ = try store.recipientKeyIDs(of: "armour.gpg") }
            #expect(error?.code == .tooLarge)
        }
    }

    /// 16 MiB of parts of one octet: stat is quick, reading is an error that says why.
    @Test func tinyPartsInAStore() throws {
        try withStore(limit: 64 << 20) { home, store, path in
            var parts: [UInt8] = [0xe0, 1]
            while parts.count < 1 << 24 { parts += parts }
            let bytes = [0xd2] + parts
            let file = try FileDescriptor.open(
                path.appending("tiny.gpg"), .writeOnly, options: [.create], permissions: [.ownerReadWrite])
            try file.closeAfter { _ = try file.writeAll(bytes) }
            let status = try store.root.status(of: "tiny.gpg")
            let before = processorTime()
            _ = store.knownSize(of: "tiny.gpg", status: status)
            let took = processorTime() - before
            #expect(took < 50_000_000, "\(took) ns")
            let error = #expect(throws: StoreError.self) {
                _ = try store.plaintext(of: "tiny.gpg", cancellation: nil)
            }
            #expect(error?.message.contains("4.2.2.4") == true, "\(error?.message ?? "")")
        }
    }
}
