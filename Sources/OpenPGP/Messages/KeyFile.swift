/// What a file of keys may hold, told without gpg.
public enum KeyFile {
    /// Whether a file holds secret keys, or anything armoured that is no public key: gpg imports whatever is inside,
    /// whatever the armour calls it.
    public static func holdsMoreThanPublicKeys(_ bytes: [UInt8]) -> Bool {
        let mark = Array("-----BEGIN PGP ".utf8)
        let publicKey = Array("-----BEGIN PGP PUBLIC KEY BLOCK-----".utf8)
        var rest = bytes[...]
        guard let first = rest.firstRange(of: mark) else { return holdsSecretKeys(bytes) }
        rest = rest[first.lowerBound...]
        while !rest.isEmpty {
            guard rest.starts(with: publicKey) else { return true }
            // Up to the next one, so that each byte is decoded once.
            let next = rest.dropFirst(mark.count).firstRange(of: mark)?.lowerBound ?? rest.endIndex
            if let inside = Armor.decode(Array(rest[..<next]), .publicKey), holdsSecretKeys(inside) {
                return true
            }
            rest = rest[next...]
        }
        return false
    }

    /// Whether one of the packets is a secret key or subkey (RFC 4880, 4.3: tags 5 and 7).
    private static func holdsSecretKeys(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var reader = PacketReader(bytes)
            var offset: Int64 = 0
            while let packet = try? reader.header(at: offset) {
                if packet.tag == 5 || packet.tag == 7 { return true }
                guard packet.end > offset else { return false }
                offset = packet.end
            }
            return false
        }
    }
}
