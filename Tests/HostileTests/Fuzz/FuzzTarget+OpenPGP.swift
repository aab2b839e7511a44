import SystemPackage

@testable import OpenPGP

/// Builds packets (RFC 4880, 4.2) for the corpora.
enum FuzzPacket {
    /// A packet with one of the forms of a length.
    static func bytes(_ tag: UInt8, _ body: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
        let isOld = tag < 16 && random.once(in: 2)
        if isOld { return old(tag, body, &random) }
        if random.once(in: 2) { return [0xc0 | tag] + partial(body, &random) }
        return [0xc0 | tag] + length(body.count, isLong: random.once(in: 4)) + body
    }

    private static func old(_ tag: UInt8, _ body: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
        let head = 0x80 | tag << 2
        let count = UInt32(body.count)
        if random.once(in: 12) { return [head | 3] + body }
        if count < 256, random.once(in: 2) { return [head, UInt8(count)] + body }
        if count < 65536, random.once(in: 2) { return [head | 1] + octets(count).suffix(2) + body }
        return [head | 2] + octets(count) + body
    }

    /// In parts, as who does not know the length beforehand writes it; most often with gpg's sizes.
    private static func partial(_ body: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
        var result: [UInt8] = []
        var rest = body[...]
        let isStrange = random.once(in: 4)
        while rest.count >= 512 {
            let most = min(rest.count, 8192)
            let largest = Int.bitWidth - 1 - most.leadingZeroBitCount
            let power = isStrange ? random.below(largest + 1) : largest
            result.append(0xe0 | UInt8(power))
            result += rest.prefix(1 << power)
            rest = rest.dropFirst(1 << power)
            if isStrange, random.once(in: 40) { break }
        }
        return result + length(rest.count, isLong: false) + rest
    }

    static func length(_ count: Int, isLong: Bool) -> [UInt8] {
        if isLong || count > 8383 { return [0xff] + octets(UInt32(count)) }
        if count < 192 { return [UInt8(count)] }
        return [UInt8((count - 192) >> 8 + 192), UInt8((count - 192) & 0xff)]
    }

    static func octets(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// A multiprecision integer of so many octets.
    static func integer(_ octets: [UInt8]) -> [UInt8] {
        var packet: [UInt8] = []
        MultiPrecision.append(octets, to: &packet)
        return packet
    }

    /// An encrypted message: recipients, now and then a passphrase, then the data.
    static func message(_ random: inout FuzzRandom) -> [UInt8] {
        var message: [UInt8] = []
        for _ in 0..<random.below(4) {
            let key: [UInt8] = random.once(in: 4) ? [UInt8](repeating: 0, count: 8) : random.bytes(8)
            message += bytes(
                1, [random.once(in: 8) ? 6 : 3] + key + [18] + integer(random.bytes(32)), &random)
        }
        if random.once(in: 6) { message += bytes(3, [4, 9, 3, 8] + random.bytes(9), &random) }
        if random.once(in: 6) { message += bytes(10, Array("PGP".utf8), &random) }
        let sizes = [0, 1, 20, 48, 49, 50, 239, 240, 300, 500, 512, 700, 1024, 4096, 8191, 8192, 8400, 20000]
        let body = [random.once(in: 8) ? 2 : 1] + random.bytes(random.pick(sizes) + random.below(64))
        return message + bytes(random.pick([18, 18, 18, 18, 20, 9, 11, 8]), body, &random)
    }
}

extension FuzzTarget {
    /// Ciphertexts as the mount looks at them: sizes and recipients without a key.
    static let openPGP = FuzzTarget(
        name: "openpgp", tokens: ["\u{d2}", "\u{85}", "\u{c1}", "\u{e9}\u{e0}", "\u{ff}\u{ff}\u{ff}\u{ff}"],
        item: { FuzzPacket.message(&$0) },
        read: { input, _ in try readMessage(input) })

    private static func readMessage(_ input: FuzzInput) throws {
        let size = Int64(input.bytes.count)
        // Each packet and each part costs a read at most, and each packet's first octet of its body.
        var reads = 0
        var isOutside = false
        let read = { (offset: Int64, count: Int) throws(Errno) -> [UInt8] in
            reads += 1
            if offset < 0 || count < 0 || offset + Int64(count) > size { isOutside = true }
            guard offset >= 0, offset < size else { return [] }
            return Array(input.bytes[Int(offset)..<min(input.bytes.count, Int(offset) + count)])
        }
        let predicted = try Packets.plaintextSize(fileSize: size, read: read)
        try claim(!isOutside, "reads beyond the file")
        try claim(reads <= readLimit, "\(reads) reads to predict a size")
        if let predicted {
            try claim(0...size ~= predicted.value, "predicts \(predicted.value) of \(size) bytes")
        }
        reads = 0
        let recipients = try Packets.recipientKeyIDs(fileSize: size, read: read)
        try claim(!isOutside, "reads beyond the file")
        try claim(reads <= readLimit, "\(reads) reads to list recipients")
        try claim(recipients.count * 10 <= input.bytes.count, "more recipients than fit")
        let whole = Packets.isWholeMessage(input.bytes)
        let inMemory = input.withGuarded { Packets.recipientKeyIDs(in: UnsafeRawBufferPointer($0)) }
        if !Armor.isArmored(input.bytes) {
            try claim(inMemory == recipients, "other recipients in memory than in a file")
            try claim(Packets.recipientKeyIDs(in: input.bytes).count == recipients.count, "another count")
        }
        try claim(!(whole && input.bytes.isEmpty), "an empty message is whole")
    }

    /// How many reads may be spent on one file, so that a listing stays quick.
    private static let readLimit = 4096

    /// Armoured messages and keys.
    static let armor = FuzzTarget(
        name: "armor", share: 60,
        tokens: [
            "-----BEGIN PGP MESSAGE-----\n", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n",
            "-----END PGP MESSAGE-----\n", "\n\n", "\r\n", "=", "=AAAA\n", "Comment: x\n", "+/",
        ],
        item: { armored(&$0) },
        read: { input, _ in
            for kind in [Armor.Kind.message, .publicKey] {
                guard let decoded = Armor.decode(input.bytes, kind) else { continue }
                try claim(decoded.count <= input.bytes.count * 3 / 4, "more bytes than the armour holds")
                _ = ExportedKey.keys(in: decoded)
            }
            _ = input.withGuarded { Packets.recipientKeyIDs(in: UnsafeRawBufferPointer($0)) }
        })

    private static func armored(_ random: inout FuzzRandom) -> [UInt8] {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let isKey = random.once(in: 3)
        let kind = isKey ? "PUBLIC KEY BLOCK" : "MESSAGE"
        let inside = isKey ? exportedKey(&random) : FuzzPacket.message(&random)
        let ending: [UInt8] = random.once(in: 4) ? [13, 10] : [10]
        var text = Array("-----BEGIN PGP \(kind)-----".utf8) + ending
        if random.once(in: 3) { text += Array("Version: GnuPG v2".utf8) + ending }
        text += ending
        for line in stride(from: 0, to: inside.count, by: 48) {
            let piece = Array(inside[line..<min(inside.count, line + 48)])
            for start in stride(from: 0, to: piece.count, by: 3) {
                let three = Array(piece[start..<min(piece.count, start + 3)])
                var bits: UInt32 = 0
                for index in 0..<3 { bits = bits << 8 | UInt32(index < three.count ? three[index] : 0) }
                for place in 0..<4 {
                    let shift = UInt32(18 - 6 * place)
                    text.append(place <= three.count ? digits[Int(bits >> shift & 63)] : UInt8(ascii: "="))
                }
            }
            text += ending
        }
        if random.once(in: 2) { text += Array("=abcd".utf8) + ending }
        return text + Array("-----END PGP \(kind)-----".utf8) + ending
    }
}
