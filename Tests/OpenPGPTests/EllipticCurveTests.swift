import Testing

@testable import OpenPGP

/// Public keys come from others, and libgcrypt aborts the process ("W must be less than m^2") when it calculates with a
/// coordinate far above the prime of the curve's field.
@Suite struct EllipticCurveTests {
    private static func ones(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xff, count: count) }

    @Test(arguments: EllipticCurve.allCases) func aCoordinateAboveThePrimeIsNone(_ curve: EllipticCurve) {
        let length = curve.coordinateLength
        let small = [UInt8](repeating: 0, count: length - 1) + [9]
        if curve == .curve25519 {
            #expect(curve.isPoint([0x40] + small))
            #expect(!curve.isPoint([0x40] + Self.ones(length)))
            // 2^255 - 19, the prime itself, and the number below it; little-endian.
            #expect(!curve.isPoint([0x40, 0xed] + Self.ones(30) + [0x7f]))
            #expect(curve.isPoint([0x40, 0xec] + Self.ones(30) + [0x7f]))
        } else {
            #expect(curve.isPoint([0x04] + small + small))
            #expect(!curve.isPoint([0x04] + small + Self.ones(length)))
            #expect(!curve.isPoint([0x04] + Self.ones(length) + small))
        }
    }

    @Test(arguments: EllipticCurve.allCases) func aKeyWithSuchAPointIsLeftToGpg(_ curve: EllipticCurve) throws
    {
        let count = curve == .curve25519 ? curve.coordinateLength : 2 * curve.coordinateLength
        let head: UInt8 = curve == .curve25519 ? 0x40 : 0x04
        var body: [UInt8] = [4, 0, 0, 0, 1, 18, UInt8(curve.identifier.count)] + curve.identifier
        MultiPrecision.append([head] + Self.ones(count), to: &body)
        let packet = try #require(PublicKeyPacket(body: body + [3, 1, 8, 7]))
        #expect(packet.material == nil)
    }
}
