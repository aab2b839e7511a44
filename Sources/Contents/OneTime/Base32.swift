import System

/// Base 32 as people and services write it: RFC 4648, section 6, in upper and lower case, with spaces and hyphens anywhere, with
/// padding or without.
///
/// Bits at the end that make no whole byte are dropped, as the authenticators of phones do: some services make keys of any
/// number of letters.
enum Base32 {
    /// The bytes of a percent-encoded text.
    /// - Throws: `.invalid` for another character, which is not told: it may be part of a key.
    static func decode(_ text: PercentBytes) throws(ContentsError) -> SecretBytes {
        var (text, position) = (text, 0)
        var output = SecretOutput()
        var (bits, count, isPadded) = (0, 0, false)
        while let byte = try text.next() {
            position += 1
            // A plus sign is how forms write a space.
            if byte.isWhiteSpace || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") { continue }
            if byte == UInt8(ascii: "=") {
                isPadded = true
                continue
            }
            guard !isPadded, let value = value(of: byte) else {
                throw ContentsError(
                    .invalid, "the secret of the otpauth URI is not in base 32: see its character \(position)"
                )
            }
            bits = bits << 5 | value
            count += 5
            if count >= 8 {
                count -= 8
                try output.append(UInt8(bits >> count))
                bits &= 1 << count - 1
            }
        }
        return output.finish()
    }

    private static func value(of byte: UInt8) -> Int? {
        if byte.isLetter { return Int(byte.lowercased - UInt8(ascii: "a")) }
        guard (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte) else { return nil }
        return Int(byte - UInt8(ascii: "2")) + 26
    }
}
