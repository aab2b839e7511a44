/// What the signed part of a version 4 signature says (RFC 4880, 5.2.3). Whether the signature is good is gpg's to
/// know: it leaves what is not out of a minimal export.
struct SignatureFacts: Sendable, Equatable {
    /// What is signed (5.2.1).
    let type: UInt8
    /// Preferred ciphers, the best first (5.2.3.7).
    private(set) var ciphers: [UInt8] = []
    /// The first octet of the features (5.2.3.24): 1 for modification detection, 2 for gpg's OCB.
    private(set) var features: UInt8 = 0
    /// gpg 2.4 encrypts to an "additional decryption subkey" beside the one that is chosen.
    private(set) var asksForMoreRecipients = false
    /// Something critical that is not known here.
    private(set) var hasUnknownCritical = false

    /// nil for other versions, and for what is cut off.
    init?(body: [UInt8]) {
        guard body.count >= 6, body[0] == 4 else { return nil }
        type = body[1]
        let count = Int(body[4]) << 8 | Int(body[5])
        guard body.count >= 6 + count else { return nil }
        var rest = body[6..<6 + count]
        while !rest.isEmpty {
            guard let length = Self.length(&rest), length >= 1, rest.count >= length else { return nil }
            take(kind: rest[rest.startIndex], Array(rest.prefix(length).dropFirst()))
            rest = rest.dropFirst(length)
        }
    }

    private mutating func take(kind: UInt8, _ content: [UInt8]) {
        switch kind & 0x7f {
        case 11: ciphers = content
        case 30: features = content.first ?? 0
        // The second octet of the key flags.
        case 27: asksForMoreRecipients = content.count > 1 && content[1] & 0x04 != 0
        // Times, trust, issuers, other preferences, policies, reasons, embedded signatures: nothing for us.
        case 2...10, 12, 16, 21...26, 28, 29, 31...34: break
        default: if kind & 0x80 != 0 { hasUnknownCritical = true }
        }
    }

    /// The length of a subpacket (5.2.3.1).
    private static func length(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.popFirst() else { return nil }
        switch first {
        case ..<192: return Int(first)
        case 255:
            guard bytes.count >= 4 else { return nil }
            defer { bytes = bytes.dropFirst(4) }
            return bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        default:
            guard let second = bytes.popFirst() else { return nil }
            return (Int(first) - 192) << 8 + Int(second) + 192
        }
    }
}
