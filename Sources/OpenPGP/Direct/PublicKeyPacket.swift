import CGcrypt

/// What the body of a version 4 public key or subkey packet holds (RFC 4880, 5.5.2), for the keys that are encrypted
/// to without gpg.
struct PublicKeyPacket: Sendable, Equatable {
    /// What the session key is encrypted with.
    enum Material: Sendable, Equatable {
        /// Modulus and exponent, big-endian (RFC 4880, 13.1).
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// RFC 6637, 9.
        case ecdh(EllipticCurve, point: [UInt8], KeyDerivation)

        /// Whether messages are written for it, and not only read.
        var isForEncryption: Bool {
            switch self {
            case .rsa: true
            case .ecdh(let curve, _, _): curve.isForEncryption
            }
        }
    }

    /// The hash and the cipher that wrap a session key (RFC 6637, 9): ids of OpenPGP.
    struct KeyDerivation: Sendable, Equatable {
        let hash: UInt8
        let cipher: UInt8

        /// libgcrypt's names, and the length of the cipher's key; nil for what RFC 6637 does not name.
        var algorithms: (hash: gcry_md_algos, cipher: gcry_cipher_algos, keyLength: Int)? {
            let hashes: [UInt8: gcry_md_algos] = [
                8: GCRY_MD_SHA256, 9: GCRY_MD_SHA384, 10: GCRY_MD_SHA512,
            ]
            let ciphers: [UInt8: (gcry_cipher_algos, Int)] = [
                7: (GCRY_CIPHER_AES, 16), 8: (GCRY_CIPHER_AES192, 24), 9: (GCRY_CIPHER_AES256, 32),
            ]
            guard let hash = hashes[hash], let (cipher, length) = ciphers[cipher] else { return nil }
            return (hash, cipher, length)
        }
    }

    /// The octet that names the algorithm, 1 and 2 for RSA, 18 for ECDH; a message repeats it.
    let algorithm: UInt8
    /// Computed over the packet.
    let fingerprint: Fingerprint
    /// nil for what is left to gpg.
    let material: Material?

    /// nil for what is no version 4 key.
    init?(body: [UInt8]) {
        guard body.count > 6, body.count <= 0xffff, body[0] == 4 else { return nil }
        algorithm = body[5]
        // RFC 4880, 12.2.
        let prefix: [UInt8] = [0x99, UInt8(body.count >> 8), UInt8(body.count & 0xff)]
        let digest = Gcrypt.digest(GCRY_MD_SHA1, of: prefix + body)
        guard let fingerprint = Fingerprint(digest) else { return nil }
        self.fingerprint = fingerprint
        switch algorithm {
        case 1, 2: material = Self.rsa(body[6...])
        case 18: material = Self.ecdh(body[6...])
        default: material = nil
        }
    }

    private static func rsa(_ bytes: ArraySlice<UInt8>) -> Material? {
        var rest = bytes
        guard let modulus = MultiPrecision.take(from: &rest), let exponent = MultiPrecision.take(from: &rest),
            rest.isEmpty
        else { return nil }
        // What is smaller or larger is unusual, and gpg may have its own mind about it.
        guard (256...1024).contains(modulus.count), modulus.last.map({ $0 & 1 == 1 }) == true,
            (1...8).contains(exponent.count), Array(exponent) != [1]
        else { return nil }
        return .rsa(modulus: Array(modulus), exponent: Array(exponent))
    }

    private static func ecdh(_ bytes: ArraySlice<UInt8>) -> Material? {
        var rest = bytes
        guard let length = rest.popFirst(), rest.count >= Int(length) else { return nil }
        guard let curve = EllipticCurve(identifier: Array(rest.prefix(Int(length)))) else { return nil }
        rest = rest.dropFirst(Int(length))
        guard let point = MultiPrecision.take(from: &rest), curve.isPoint(point) else { return nil }
        // The length of what follows, 3, and a reserved 1.
        let parameters = Array(rest)
        guard parameters.count == 4, parameters[0] == 3, parameters[1] == 1 else { return nil }
        let derivation = KeyDerivation(hash: parameters[2], cipher: parameters[3])
        guard derivation.algorithms != nil else { return nil }
        return .ecdh(curve, point: Array(point), derivation)
    }
}

extension Fingerprint {
    /// The fingerprint of 20 octets.
    init?(_ octets: [UInt8]) {
        self.init(
            octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined())
    }

    /// Its 20 octets.
    var octets: [UInt8] {
        let digits = Array(description.utf8)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
