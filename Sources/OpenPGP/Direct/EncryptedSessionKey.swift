import CGcrypt
import Glibc

/// A session key that is encrypted for one key: a packet of tag 1, version 3 (RFC 4880, 5.1).
struct EncryptedSessionKey {
    /// Whose it is; 0 where that is hidden.
    let keyID: UInt64
    /// The octet that names the algorithm.
    let algorithm: UInt8
    private let numbers: [[UInt8]]

    /// nil for other algorithms, and for what is not of the only right form.
    init?(body: [UInt8]) {
        guard body.count > 10, body[0] == 3 else { return nil }
        keyID = body[1..<9].reduce(0) { $0 << 8 | UInt64($1) }
        algorithm = body[9]
        var rest = body[10...]
        guard let first = MultiPrecision.take(from: &rest) else { return nil }
        switch algorithm {
        case 1, 2:
            numbers = [Array(first)]
        case 16:
            guard let second = MultiPrecision.take(from: &rest) else { return nil }
            numbers = [Array(first), Array(second)]
        case 18:
            // The wrapped key, its length before it.
            guard let length = rest.first, rest.count == 1 + Int(length), length >= 24, length % 8 == 0 else {
                return nil
            }
            numbers = [Array(rest), Array(first)]
            rest = []
        default: return nil
        }
        guard rest.isEmpty else { return nil }
    }

    /// What gpg-agent is to decrypt: a canonical S-expression.
    var question: [UInt8] {
        let (name, labels) =
            switch algorithm {
            case 16: ("elg", ["a", "b"])
            case 18: ("ecdh", ["s", "e"])
            default: ("rsa", ["a"])
            }
        var text = Array("(7:enc-val(\(name.utf8.count):\(name)".utf8)
        for (label, number) in zip(labels, numbers) {
            // A number whose first bit is set would be negative.
            let isNumber = algorithm != 18
            let value = isNumber && number.first.map { $0 & 0x80 != 0 } == true ? [0] + number : number
            text += Array("(1:\(label)\(value.count):".utf8) + value + Array(")".utf8)
        }
        return text + Array("))".utf8)
    }

    /// The session key in what gpg-agent answered.
    /// - Parameter isPadded: whether the padding is still there, where there was one.
    /// - Throws: where it is not of the right form; gpg decides what that means.
    func key(
        in answer: UnsafeRawBufferPointer, for recipient: PublicKeyPacket, isPadded: Bool
    ) throws(OpenPGPError) -> MessageKey {
        guard let value = Self.value(in: answer) else { throw Self.strange }
        guard algorithm == 18 else {
            return try Self.key(inFrame: isPadded ? Self.withoutPadding(value) : value)
        }
        guard case .ecdh(let curve, _, let derivation) = recipient.material,
            let algorithms = derivation.algorithms, curve.isPoint(numbers[1])
        else { throw Self.strange }
        let wrappingKey = try SecureBytes(count: algorithms.keyLength)
        try SessionKeyPacket.derive(wrappingKey, from: value, recipient, curve, derivation)
        let wrapped = Array(numbers[0].dropFirst())
        let frame = try SecureBytes(count: wrapped.count - 8)
        let cipher = try Cipher(algorithms.cipher, GCRY_CIPHER_MODE_AESWRAP, key: wrappingKey.bytes)
        try wrapped.withBytes { (wrapped) throws(OpenPGPError) in
            try cipher.decrypt(wrapped, to: .init(start: frame.base, count: frame.count))
        }
        // RFC 6637, 8: filled up with octets that tell how many they are.
        let padding = Int(frame[frame.count - 1])
        guard (1...16).contains(padding), padding < frame.count,
            frame.bytes.suffix(padding).allSatisfy({ Int($0) == padding })
        else { throw Self.strange }
        return try Self.key(inFrame: .init(rebasing: frame.bytes.dropLast(padding)))
    }

    private static var strange: OpenPGPError {
        OpenPGPError(.other, "gpg-agent's reply contains no session key")
    }

    /// `(5:value33:…)`, a zero octet behind it or not.
    private static func value(in answer: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let start = Array("(5:value".utf8)
        guard answer.starts(with: start) else { return nil }
        let digits = answer[start.count...].prefix { (0x30...0x39).contains($0) }
        guard let count = Int(String(decoding: digits, as: UTF8.self)), (1...4096).contains(count) else {
            return nil
        }
        let first = digits.endIndex + 1
        guard answer.count > first + count, answer[first - 1] == UInt8(ascii: ":"),
            answer[(first + count)...].elementsEqual([UInt8(ascii: ")")])
                || answer[(first + count)...].elementsEqual([UInt8(ascii: ")"), 0])
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: answer[first..<first + count])
    }

    /// What PKCS #1 pads: a 2, octets other than 0, a 0, and what is meant (RFC 4880, 13.1.1); as a number, without the
    /// 0 before it.
    private static func withoutPadding(_ value: UnsafeRawBufferPointer) throws(OpenPGPError)
        -> UnsafeRawBufferPointer
    {
        let bytes = value.drop { $0 == 0 }
        guard bytes.first == 2, let zero = bytes.firstIndex(of: 0), zero - bytes.startIndex > 8 else {
            throw strange
        }
        return UnsafeRawBufferPointer(rebasing: bytes[(zero + 1)...])
    }

    /// The cipher's id, the key, and the sum of its octets (RFC 4880, 5.1).
    private static func key(inFrame frame: UnsafeRawBufferPointer) throws(OpenPGPError) -> MessageKey {
        guard let cipher = frame.first.flatMap({ SymmetricCipher(id: $0) }), cipher.keyLength > 0,
            frame.count == 1 + cipher.keyLength + 2
        else { throw strange }
        let key = UnsafeRawBufferPointer(rebasing: frame[1..<frame.count - 2])
        let sum = key.reduce(UInt16(0)) { $0 &+ UInt16($1) }
        guard frame[frame.count - 2] == UInt8(sum >> 8), frame[frame.count - 1] == UInt8(sum & 0xff) else {
            throw strange
        }
        guard let kept = MessageKey(key, for: cipher) else {
            throw OpenPGPError(.other, "there is no room for another session key")
        }
        return kept
    }
}
