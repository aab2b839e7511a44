import Glibc

/// ASCII armour (RFC 4880, 6.2), as far as a message in it must be looked into.
enum Armor {
    /// What is armoured.
    enum Kind: String {
        case message = "MESSAGE"
        case publicKey = "PUBLIC KEY BLOCK"
    }

    static func isArmored(_ bytes: [UInt8], _ kind: Kind = .message) -> Bool {
        bytes.withUnsafeBytes { isArmored($0, kind) }
    }

    static func isArmored(_ bytes: UnsafeRawBufferPointer, _ kind: Kind = .message) -> Bool {
        bytes.starts(with: "-----BEGIN PGP \(kind.rawValue)-----".utf8)
    }

    /// What is inside; nil when the armour is broken. The checksum is not looked at: what is inside protects
    /// itself.
    static func decode(_ bytes: [UInt8], _ kind: Kind = .message) -> [UInt8]? {
        bytes.withUnsafeBytes { decode($0, kind) }
    }

    /// As above, of lent memory. In one pass, and in no more memory than what comes out.
    static func decode(_ bytes: UnsafeRawBufferPointer, _ kind: Kind = .message) -> [UInt8]? {
        guard isArmored(bytes, kind), let start = endOfHeaders(bytes) else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count - start) / 4 * 3 + 3)
        var bits: UInt32 = 0
        var held = 0
        var isAtLineStart = true
        var isPadded = false
        for place in start..<bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: "\n") {
                (isAtLineStart, isPadded) = (true, false)
                continue
            }
            if isAtLineStart, byte == UInt8(ascii: "=") || byte == UInt8(ascii: "-") { return result }
            isAtLineStart = false
            if byte == UInt8(ascii: "=") { isPadded = true }
            let isLineEnd =
                byte == UInt8(ascii: "\r")
                && (place + 1 == bytes.count || bytes[place + 1] == UInt8(ascii: "\n"))
            if isPadded || isLineEnd { continue }
            guard let value = value(byte) else { return nil }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
                bits &= (1 << UInt32(held)) - 1
            }
        }
        return nil
    }

    /// Where the line after the first blank one begins; nil without a blank one.
    private static func endOfHeaders(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var lineStart = 0
        while let found = memchr(base + lineStart, Int32(UInt8(ascii: "\n")), bytes.count - lineStart) {
            let place = UnsafeRawPointer(found) - base
            let length = place - lineStart
            if length == 0 || length == 1 && bytes[lineStart] == UInt8(ascii: "\r") { return place + 1 }
            lineStart = place + 1
        }
        return nil
    }

    static func value(_ byte: UInt8) -> UInt32? {
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
