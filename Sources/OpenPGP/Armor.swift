/// ASCII armour (RFC 4880, 6.2), as far as a message in it must be looked into.
enum Armor {
    /// What is armoured.
    enum Kind: String {
        case message = "MESSAGE"
        case publicKey = "PUBLIC KEY BLOCK"
    }

    static func isArmored(_ bytes: [UInt8], _ kind: Kind = .message) -> Bool {
        bytes.starts(with: "-----BEGIN PGP \(kind.rawValue)-----".utf8)
    }

    /// What is inside; nil when the armour is broken. The checksum is not looked at: what is inside protects
    /// itself.
    static func decode(_ bytes: [UInt8], _ kind: Kind = .message) -> [UInt8]? {
        guard isArmored(bytes, kind) else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        guard let blank = lines.firstIndex(where: \.isEmpty) else { return nil }
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var held = 0
        for line in lines[(blank + 1)...] {
            if line.first == UInt8(ascii: "=") || line.first == UInt8(ascii: "-") { return result }
            for byte in line {
                if byte == UInt8(ascii: "=") { break }
                guard let value = value(byte) else { return nil }
                bits = bits << 6 | value
                held += 6
                if held >= 8 {
                    held -= 8
                    result.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
                    bits &= (1 << UInt32(held)) - 1
                }
            }
        }
        return nil
    }

    private static func value(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
