/// What kind of name a recipient line is, by the rules of gpg (doc/DETAILS of "how to specify a user id"), a little
/// stricter where gpg would guess.
enum RecipientName: Equatable {
    /// 8, 16, 32 or 40 hexadecimal digits without `0x`; exact: that very subkey (`!`).
    case hexadecimal(String, exact: Bool)
    /// A complete mail address, which must be that of a user id. gpg takes it for a part of one when none is equal,
    /// and so would encrypt what is for `ann@example.org` to `joann@example.org`.
    case address(String)
    /// Anything else, left to gpg: a part of a user id, or a prefix that says how to search.
    case other(String)

    init(_ line: String) {
        if let (digits, exact) = Self.digits(line) {
            self = .hexadecimal(digits, exact: exact)
            return
        }
        var address = line[...]
        if address.first == "<", address.last == ">" { address = address.dropFirst().dropLast() }
        self = Self.isAddress(address) ? .address(address.lowercased()) : .other(line)
    }

    private static func digits(_ line: String) -> (String, Bool)? {
        var rest = line[...]
        let exact = rest.last == "!"
        if exact { rest = rest.dropLast() }
        if rest.hasPrefix("0x") || rest.hasPrefix("0X") { rest = rest.dropFirst(2) }
        let digits = rest.utf8.filter { $0 != UInt8(ascii: " ") }
        // Spaces are for reading fingerprints; "dead beef" is a name.
        guard digits.count == rest.utf8.count || digits.count == 40 else { return nil }
        guard digits.allSatisfy(Fingerprint.isHexadecimal) else { return nil }
        // gpg lets a zero stand before the digits.
        let significant =
            [9, 17, 33, 41].contains(digits.count) && digits.first == UInt8(ascii: "0")
            ? Array(digits.dropFirst()) : Array(digits)
        guard [8, 16, 32, 40].contains(significant.count) else { return nil }
        return (String(decoding: significant, as: UTF8.self).uppercased(), exact)
    }

    private static func isAddress(_ text: Substring) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return false }
        return !text.unicodeScalars.contains {
            $0.value <= 0x20 || "<>()[]:;,\"\\".unicodeScalars.contains($0)
        }
    }
}
