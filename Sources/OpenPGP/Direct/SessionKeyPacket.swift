import CGcrypt
import Glibc

/// Writes public-key encrypted session key packets, version 3 (RFC 4880, 5.1).
enum SessionKeyPacket {
    /// The packet for one recipient, with an old-style header as gpg writes it.
    static func bytes(
        for recipient: PublicKeyPacket, _ sessionKey: borrowing SessionKey
    ) throws(OpenPGPError) -> [UInt8] {
        var body: [UInt8] = [3]
        body += recipient.fingerprint.octets.suffix(8)
        body.append(recipient.algorithm)
        switch recipient.material {
        case .rsa(let modulus, let exponent):
            try appendRSA(modulus, exponent, sessionKey, to: &body)
        case .ecdh(let curve, let point, let derivation):
            try appendECDH(recipient, curve, point, derivation, sessionKey, to: &body)
        case nil: throw OpenPGPError(.other, "the key's algorithm is left to gpg")
        }
        guard body.count <= 0xffff else { throw OpenPGPError(.other, "a session key packet is too long") }
        let header: [UInt8] =
            body.count < 256
            ? [0x84, UInt8(body.count)] : [0x85, UInt8(body.count >> 8), UInt8(body.count & 0xff)]
        return header + body
    }

    /// m to the power of e, m padded as PKCS #1 wants it (RFC 4880, 13.1.1).
    private static func appendRSA(
        _ modulus: [UInt8], _ exponent: [UInt8], _ sessionKey: borrowing SessionKey, to body: inout [UInt8]
    ) throws(OpenPGPError) {
        let key = try modulus.withBytes { (modulus) throws(OpenPGPError) in
            try exponent.withBytes { (exponent) throws(OpenPGPError) in
                try SymbolicExpression("(public-key (rsa (n %b)(e %b)))", [modulus, exponent])
            }
        }
        let data = try SymbolicExpression("(data (flags pkcs1) (value %b))", [sessionKey.plain])
        let number = try data.encrypted(to: key).withValue("a") { (bytes) throws(OpenPGPError) in Array(bytes)
        }
        guard number.drop(while: { $0 == 0 }).count <= modulus.count, number.contains(where: { $0 != 0 })
        else { throw OpenPGPError(.other, "libgcrypt gave no number below the modulus") }
        MultiPrecision.append(number, to: &body)
    }

    /// An ephemeral point, then the session key wrapped with what is derived from the shared one (RFC 6637, 8).
    private static func appendECDH(
        _ recipient: PublicKeyPacket, _ curve: EllipticCurve, _ point: [UInt8],
        _ derivation: PublicKeyPacket.KeyDerivation, _ sessionKey: borrowing SessionKey,
        to body: inout [UInt8]
    ) throws(OpenPGPError) {
        guard let algorithms = derivation.algorithms else {
            throw OpenPGPError(.other, "no such key derivation")
        }
        // Curve25519 has its octets in the other order: libgcrypt's "djb-tweak".
        let flags = curve == .curve25519 ? "(flags djb-tweak)" : ""
        let key = try point.withBytes { (point) throws(OpenPGPError) in
            try SymbolicExpression("(public-key (ecdh (curve \"\(curve.name)\")\(flags)(q %b)))", [point])
        }
        guard let scalar = gcry_mpi_snew(UInt32(curve.bits)) else {
            throw OpenPGPError(.other, "no secure memory")
        }
        defer { gcry_mpi_release(scalar) }
        // As gpg does; libgcrypt sets and clears the bits that Curve25519 wants so.
        gcry_mpi_randomize(scalar, UInt32(curve.bits - 1), GCRY_STRONG_RANDOM)
        let points = try SymbolicExpression(number: scalar).encrypted(to: key)
        let ephemeral = try points.withValue("e") { (bytes) throws(OpenPGPError) in Array(bytes) }
        guard curve.isPoint(ephemeral) else {
            throw OpenPGPError(.other, "libgcrypt gave an ephemeral key of another form")
        }

        let wrappingKey = try SecureBytes(count: algorithms.keyLength)
        try points.withValue("s") { (shared) throws(OpenPGPError) in
            try derive(wrappingKey, from: shared, recipient, curve, derivation)
        }
        let wrapped = try wrap(sessionKey.padded, algorithms.cipher, key: wrappingKey.bytes)
        MultiPrecision.append(ephemeral, to: &body)
        body.append(UInt8(wrapped.count))
        body += wrapped
    }

    /// What a session key is wrapped with, from the shared point (RFC 6637, 7).
    static func derive(
        _ wrappingKey: borrowing SecureBytes, from shared: UnsafeRawBufferPointer,
        _ recipient: PublicKeyPacket, _ curve: EllipticCurve, _ derivation: PublicKeyPacket.KeyDerivation
    ) throws(OpenPGPError) {
        guard let algorithms = derivation.algorithms, wrappingKey.count == algorithms.keyLength,
            curve.isPoint(shared)
        else { throw OpenPGPError(.other, "the shared point has another form") }
        let digest = try Digest(algorithms.hash)
        let counter: [UInt8] = [0, 0, 0, 1]
        counter.withUnsafeBytes { digest.update($0) }
        digest.update(.init(rebasing: shared[1..<1 + curve.coordinateLength]))
        parameters(recipient, curve, derivation).withUnsafeBytes { digest.update($0) }
        try digest.finish(to: .init(start: wrappingKey.base, count: wrappingKey.count))
    }

    /// What the wrapping key is bound to (RFC 6637, 8: "Param").
    private static func parameters(
        _ recipient: PublicKeyPacket, _ curve: EllipticCurve, _ derivation: PublicKeyPacket.KeyDerivation
    ) -> [UInt8] {
        [UInt8(curve.identifier.count)] + curve.identifier + [recipient.algorithm]
            + [3, 1, derivation.hash, derivation.cipher] + Array("Anonymous Sender    ".utf8)
            + recipient.fingerprint.octets
    }

    /// RFC 3394.
    private static func wrap(
        _ secret: UnsafeRawBufferPointer, _ algorithm: gcry_cipher_algos, key: UnsafeRawBufferPointer
    ) throws(OpenPGPError) -> [UInt8] {
        let cipher = try Cipher(algorithm, GCRY_CIPHER_MODE_AESWRAP, key: key)
        var wrapped = [UInt8](repeating: 0, count: secret.count + 8)
        try wrapped.withMutableBytes { (target) throws(OpenPGPError) in
            try cipher.encrypt(secret, to: target)
        }
        return wrapped
    }
}

extension [UInt8] {
    /// `withUnsafeMutableBytes` that keeps the type of the error.
    mutating func withMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try withUnsafeMutableBufferPointer { (buffer) throws(E) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
