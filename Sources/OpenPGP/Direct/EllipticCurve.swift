/// The curves on which a session key is agreed without gpg.
enum EllipticCurve: Sendable, Equatable, CaseIterable {
    case curve25519, p256, p384, p521

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
        }
    }

    /// How libgcrypt is told.
    var name: String {
        switch self {
        case .curve25519: "Curve25519"
        case .p256: "NIST P-256"
        case .p384: "NIST P-384"
        case .p521: "NIST P-521"
        }
    }

    /// The bits of a coordinate.
    var bits: Int {
        switch self {
        case .curve25519: 255
        case .p256: 256
        case .p384: 384
        case .p521: 521
        }
    }

    /// The octets of a coordinate.
    var coordinateLength: Int { (bits + 7) / 8 }

    /// The prime of the field that coordinates are in, big-endian (RFC 7748, 4.1; FIPS 186-4, D.1.2).
    private var prime: [UInt8] {
        func ones(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xff, count: count) }
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        return switch self {
        case .curve25519: [0x7f] + ones(30) + [0xed]
        case .p256: ones(4) + [0, 0, 0, 1] + zeros(12) + ones(12)
        case .p384: ones(31) + [0xfe] + ones(4) + zeros(8) + ones(4)
        case .p521: [0x01] + ones(65)
        }
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
        case .p256, .p384, .p521:
            return octets.first == 0x04 && rest.count == 2 * coordinateLength
                && isCoordinate(rest.prefix(coordinateLength))
                && isCoordinate(rest.suffix(coordinateLength))
        }
    }

    private func isCoordinate(_ octets: some Sequence<UInt8>) -> Bool {
        octets.lexicographicallyPrecedes(prime)
    }
}
