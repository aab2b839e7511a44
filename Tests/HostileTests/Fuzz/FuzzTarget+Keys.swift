@testable import OpenPGP

extension FuzzTarget {
    /// What gpg exports and lists: keys that somebody else made.
    static let exportedKeys = FuzzTarget(
        name: "keys", share: 60,
        tokens: [
            "\u{99}", "\u{b9}", "\u{88}", "\u{4}", "\u{ff}\u{ff}\u{ff}\u{ff}", "cfg:group:", "%", "%3", "%00",
            ";", ":",
            "NEED_PASSPHRASE", "ERROR pkdecrypt_failed ", "ENC_TO ", "\n", "0123456789ABCDEF",
        ],
        item: { exportedKey(&$0) },
        read: { input, random in try readKeys(input, &random) })

    private static func readKeys(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        for key in ExportedKey.keys(in: input.bytes) ?? [] {
            _ = key.takesOurForm(knowsOCB: true)
            _ = key.takesOurForm(knowsOCB: false)
            for packet in key.packets {
                try claim(packet.fingerprint.octets.count == 20, "a fingerprint of another length")
                // A few: the numbers are what costs.
                guard packet.material != nil, random.once(in: 100) else { continue }
                guard let session = try? SessionKey() else { continue }
                guard let bytes = try? SessionKeyPacket.bytes(for: packet, session) else { continue }
                try claim(Packets.recipientKeyIDs(in: bytes).count == 1, "no session key packet was made")
            }
        }
        let text = String(decoding: input.bytes, as: UTF8.self)
        _ = GnuPG.groups(inListing: text)
        _ = ConfigurationFiles.isHarmless(input.bytes)
        var status = StatusReader()
        let said = text.split(separator: "\n", maxSplits: 20).map { "[GNUPG:] \($0)\n" }.joined()
        said.utf8.withContiguousStorageIfAvailable { status.take(UnsafeRawBufferPointer($0)) }
        _ = status.status.codes("ERROR", "pkdecrypt_failed")
        for line in text.split(separator: "\n", maxSplits: 20) {
            _ = RecipientName(String(line))
            if let fingerprint = Fingerprint(String(line)) {
                try claim(fingerprint.octets.count == 20, "a fingerprint of another length")
            }
        }
    }

    /// A primary key, a user id, a subkey and their signatures; now and then a listing of groups.
    static func exportedKey(_ random: inout FuzzRandom) -> [UInt8] {
        if random.once(in: 8) {
            return Array(
                "cfg:version:2.2.40\ncfg:group:team%40x:ann;bob%3bx;\nENC_TO 0123456789ABCDEF 18 0\n".utf8)
        }
        return FuzzPacket.bytes(6, keyBody(&random), &random)
            + FuzzPacket.bytes(13, Array("Ann <ann@example.org>".utf8), &random)
            + FuzzPacket.bytes(2, signature(0x13, &random), &random)
            + FuzzPacket.bytes(14, keyBody(&random), &random)
            + FuzzPacket.bytes(2, signature(0x18, &random), &random)
    }

    private static func keyBody(_ random: inout FuzzRandom) -> [UInt8] {
        let head: [UInt8] = [4] + random.bytes(4)
        if random.once(in: 2) {
            var modulus = random.bytes(256)
            modulus[0] |= 0x80
            modulus[255] |= 1
            return head + [1] + FuzzPacket.integer(modulus) + FuzzPacket.integer([1, 0, 1])
        }
        let curve = random.pick(EllipticCurve.allCases)
        let length = curve == .curve25519 ? curve.coordinateLength : 2 * curve.coordinateLength
        let point: [UInt8] = [curve == .curve25519 ? 0x40 : 0x04] + random.bytes(length)
        return head + [18, UInt8(curve.identifier.count)] + curve.identifier + FuzzPacket.integer(point)
            + [3, 1, 8, 7]
    }

    private static func signature(_ type: UInt8, _ random: inout FuzzRandom) -> [UInt8] {
        var hashed: [UInt8] = []
        for (kind, content) in [
            (2, random.bytes(4)), (27, [0x0c]), (11, [9, 8, 7, 2]), (30, [1]), (21, [8, 9]),
        ]
            as [(UInt8, [UInt8])]
        {
            let isCritical = random.once(in: 8)
            hashed += FuzzPacket.length(content.count + 1, isLong: random.once(in: 8))
            hashed += [isCritical ? kind | 0x80 : kind] + content
        }
        return [4, type, 1, 8] + FuzzPacket.octets(UInt32(hashed.count)).suffix(2) + hashed + [0, 0]
            + random.bytes(2) + FuzzPacket.integer(random.bytes(64))
    }
}
