/// The curves on which a session key is agreed without gpg.
enum EllipticCurve: Sendable, Equatable, CaseIterable {
    case curve25519, p256, p384, p521, brainpool256, brainpool384, brainpool512

    /// Whether messages are written for keys on it, too: gpg has its own mind about the others.
    var isForEncryption: Bool {
        switch self {
        case .curve25519, .p256, .p384, .p521: true
        case .brainpool256, .brainpool384, .brainpool512: false
        }
    }

    /// From the object identifier that a key packet names it with (RFC 6637, 11); nil for other curves.
    init?(identifier: [UInt8]) {
        guard let curve = Self.allCases.first(where: { $0.identifier == identifier }) else { return nil }
        self = curve
    }

    /// The body of the object identifier.
    var identifier: [UInt8] {
        switch self {
        case .curve25519: [0x2b, 0x06, 0x01, 0x04, 0x01, 0x97, 0x55, 0x01, 0x05, 0x01]
        case .p256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
        case .p384: [0x2b, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x2b, 0x81, 0x04, 0x00, 0x23]
        case .brainpool256: [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x07]
        case .brainpool384: [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0b]
        case .brainpool512: [0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0d]
        }
    }

    /// How libgcrypt is told.
    var name: String {
        switch self {
        case .curve25519: "Curve25519"
        case .p256: "NIST P-256"
        case .p384: "NIST P-384"
        case .p521: "NIST P-521"
        case .brainpool256: "brainpoolP256r1"
        case .brainpool384: "brainpoolP384r1"
        case .brainpool512: "brainpoolP512r1"
        }
    }

    /// The bits of a coordinate.
    var bits: Int {
        switch self {
        case .curve25519: 255
        case .p256, .brainpool256: 256
        case .p384, .brainpool384: 384
        case .p521: 521
        case .brainpool512: 512
        }
    }

    /// The octets of a coordinate.
    var coordinateLength: Int { (bits + 7) / 8 }

    /// The prime of the field that coordinates are in, big-endian (RFC 7748, 4.1; FIPS 186-4, D.1.2; RFC 5639,
    /// 3).
    private var prime: [UInt8] {
        func ones(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xff, count: count) }
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        return switch self {
        case .curve25519: [0x7f] + ones(30) + [0xed]
        case .p256: ones(4) + [0, 0, 0, 1] + zeros(12) + ones(12)
        case .p384: ones(31) + [0xfe] + ones(4) + zeros(8) + ones(4)
        case .p521: [0x01] + ones(65)
        case .brainpool256: Self.hex("a9fb57dba1eea9bc3e660a909d838d726e3bf623d52620282013481d1f6e5377")
        case .brainpool384:
            Self.hex(
                "8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b412b1da197fb71123acd3a729901d1a71874700133107ec53"
            )
        case .brainpool512:
            Self.hex(
                "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330871"
                    + "7d4d9b009bc66842aecda12ae6a380e62881ff2f2d82c68528aa6056583a48f3")
        }
    }

    private static func hex(_ digits: String) -> [UInt8] {
        let digits = digits.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Whether the octets have the form of a point: 0x40 and one coordinate for Curve25519, else 0x04 and two
    /// (RFC 6637, 6). libgcrypt checks whether the point is on the curve.
    ///
    /// A coordinate that is not below the prime is none: libgcrypt aborts the process when it calculates with some of
    /// those, and public keys come from others.
    func isPoint(_ octets: some Collection<UInt8>) -> Bool {
        let rest = Array(octets.dropFirst())
        switch self {
        case .curve25519:
            return octets.first == 0x40 && rest.count == coordinateLength && isCoordinate(rest.reversed())
        default:
            return octets.first == 0x04 && rest.count == 2 * coordinateLength
                && isCoordinate(rest.prefix(coordinateLength))
                && isCoordinate(rest.suffix(coordinateLength))
        }
    }

    private func isCoordinate(_ octets: some Sequence<UInt8>) -> Bool {
        octets.lexicographicallyPrecedes(prime)
    }
}
