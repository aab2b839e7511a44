/// The names that the keys of a home bear, so that gpg need not be started for each name that none of them bears: lists that
/// others push may hold any number of these.
struct BorneNames: Sendable {
    /// The last 8 digits of each fingerprint.
    private let ends: Set<Substring>
    private let addresses: Set<String>
    /// With ASCII letters in lower case.
    private let userIDs: [[UInt8]]

    init(_ keys: [Key]) {
        ends = Set(keys.lazy.flatMap(\.subkeys).map { $0.fingerprint.description.suffix(8) })
        let all = keys.flatMap(\.userIDs)
        addresses = Set(all.lazy.map { $0.email.lowercased() })
        userIDs = all.map { Self.folded($0.text) }
    }

    /// Whether there is no key at all.
    var isEmpty: Bool { ends.isEmpty }

    /// Whether gpg could find a key by this name; false only where it surely finds none.
    func mayHold(_ name: RecipientName) -> Bool {
        switch name {
        case .hexadecimal(let digits, _): ends.contains(digits.suffix(8))
        case .address(let address): addresses.contains(address)
        case .other(let text): !Self.isPartOfUserID(text) || isPartOfSome(Self.folded(text))
        }
    }

    private func isPartOfSome(_ text: [UInt8]) -> Bool { userIDs.contains { $0.contains(text) } }

    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether gpg takes a text for a part of a user id, which it compares without regard to the case of ASCII letters: it
    /// has no sign before it that says how to search, and is no kind of number.
    private static func isPartOfUserID(_ text: String) -> Bool {
        guard let first = text.utf8.first, Character(UnicodeScalar(first)).isLetter else { return false }
        return text.utf8.allSatisfy { (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: ":") }
            && !text.utf8.allSatisfy { Fingerprint.isHexadecimal($0) || [0x20, 0x21].contains($0) }
            && text.utf8.last != 0x20
    }
}
