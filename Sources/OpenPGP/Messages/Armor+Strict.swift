import CGcrypt

extension Armor {
    /// What is inside a message of just the form that gpg writes, with the checksum that it has; nil for every other,
    /// of which gpg may have its own mind.
    static func decodeStrictly(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let decoded = decode(bytes) else { return nil }
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        // What follows the last line end.
        guard lines.popLast()?.isEmpty == true, lines.popLast().map({ isLine($0, end) }) == true,
            lines.first.map({ isLine($0, begin) }) == true,
            let blank = lines.firstIndex(where: \.isEmpty)
        else { return nil }
        for header in lines[1..<blank] where !isHeader(header) { return nil }
        var text = lines[(blank + 1)...]
        guard let last = text.popLast(), last.count == 5, last.first == UInt8(ascii: "=") else { return nil }
        // All lines but the last are of one length, and only the last is padded.
        guard let width = text.first?.count, width > 0, width <= 76, width % 4 == 0 else { return nil }
        for (place, line) in zip(text.indices, text) {
            let isLast = place == text.index(before: text.endIndex)
            let digits = line.reversed().drop { $0 == UInt8(ascii: "=") }
            guard isLast ? line.count <= width && line.count % 4 == 0 : line.count == width,
                line.count - digits.count <= (isLast ? 2 : 0), digits.allSatisfy({ value($0) != nil })
            else { return nil }
        }
        var sum = 0
        for digit in last.dropFirst() {
            guard let value = value(digit) else { return nil }
            sum = sum << 6 | Int(value)
        }
        return sum == checksum(decoded) ? decoded : nil
    }

    private static let begin = "-----BEGIN PGP MESSAGE-----"
    private static let end = "-----END PGP MESSAGE-----"

    private static func isLine(_ line: Slice<UnsafeRawBufferPointer>, _ text: String) -> Bool {
        line.elementsEqual(text.utf8)
    }

    /// A word, a colon, a space and printable text.
    private static func isHeader(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
            return false
        }
        return line[..<colon].allSatisfy { (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) }
            && line[colon...].dropFirst().first == UInt8(ascii: " ")
            && line.allSatisfy { (0x20...0x7e).contains($0) }
    }

    /// RFC 4880, 6.1.
    private static func checksum(_ bytes: [UInt8]) -> Int {
        Gcrypt.digest(GCRY_MD_CRC24_RFC2440, of: bytes).reduce(0) { $0 << 8 | Int($1) }
    }
}
