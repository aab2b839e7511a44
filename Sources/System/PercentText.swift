/// Bytes as one line of printable ASCII: whatever else there is, and the percent sign, stands as `%XX`, as in a URL (RFC 3986, 2.1).
public enum PercentText {
    /// The line of some bytes.
    public static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        bytes.reduce(into: "") { line, byte in
            if (0x20..<0x7f).contains(byte), byte != UInt8(ascii: "%") {
                line.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                line += (digits.count == 1 ? "%0" : "%") + digits
            }
        }
    }

    /// The bytes of a line. A percent sign that no two hexadecimal digits follow stands for itself.
    public static func decoded(_ line: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(line.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(isDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
