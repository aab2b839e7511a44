/// Multiprecision integers as OpenPGP writes them: a count of bits in two octets, then the number without leading
/// zeros (RFC 4880, 3.2).
enum MultiPrecision {
    /// Appends a big-endian number; zeros before it are left out.
    static func append(_ number: some Collection<UInt8>, to packet: inout [UInt8]) {
        let digits = number.drop { $0 == 0 }
        let bits = digits.first.map { digits.count * 8 - $0.leadingZeroBitCount } ?? 0
        packet += [UInt8(bits >> 8), UInt8(bits & 0xff)]
        packet += digits
    }

    /// Takes a number from the front; nil unless its form is the only right one, so that nothing that was parsed
    /// here can mean something else to another program.
    static func take(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let high = bytes.popFirst(), let low = bytes.popFirst() else { return nil }
        let bits = Int(high) << 8 | Int(low)
        let count = (bits + 7) / 8
        guard bits > 0, bytes.count >= count else { return nil }
        let number = bytes.prefix(count)
        guard let first = number.first, count * 8 - first.leadingZeroBitCount == bits else { return nil }
        bytes = bytes.dropFirst(count)
        return number
    }
}
