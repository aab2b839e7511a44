public import System
import SystemPackage

/// What makes one-time codes: HOTP (RFC 4226), TOTP (RFC 6238), and the codes of Steam, which are TOTP in other characters.
public struct OneTimePassword: Sendable {
    /// The hash that the codes are made with.
    public enum Algorithm: Sendable, Equatable, CaseIterable {
        /// SHA-1, unless something else is said.
        case sha1
        /// SHA-256.
        case sha256
        /// SHA-512.
        case sha512
    }

    /// What changes from code to code.
    public enum Movement: Sendable, Equatable {
        /// The time; a code is for so many seconds.
        case time(period: Int64)
        /// A counter, which is saved anew after each code; the next code is of this one.
        case counter(UInt64)
    }

    /// How a code is written.
    public enum Style: Sendable, Equatable {
        /// So many decimal digits, 6 to 8.
        case decimal(digits: Int)
        /// Five characters, as Steam wants them.
        case steam
    }

    /// A code and for how long it serves.
    public struct Code: Sendable {
        /// Its characters, ASCII without a line break.
        public let text: SecretBytes
        /// The first second, since 1970 in UTC, at which there is another code; nil where a counter makes codes.
        public let validUntil: Int64?
    }

    /// The hash.
    public let algorithm: Algorithm
    /// What changes from code to code.
    public let movement: Movement
    /// How a code is written.
    public let style: Style
    private let key: SecretBytes

    /// Reads an otpauth URI, in Google's "Key URI Format": `otpauth://totp/LABEL?secret=…`.
    ///
    /// `secret` is in base 32, with or without padding, in upper or lower case, with spaces and hyphens. `algorithm` is SHA1,
    /// SHA256 or SHA512, also written `SHA-1` and `HMACSHA1`. `digits` is 6 to 8, `period` 1 to a billion seconds; 6 and 30
    /// without them. `hotp` needs a `counter`. The codes are those of Steam with `encoder=steam`, and where the issuer is Steam
    /// and nothing says `encoder` or 6 to 8 `digits`. Other parameters do not matter.
    /// - Throws: `.invalid` or `.unsupported`, with what is wrong and no part of the secret; `.system` without memory.
    public init(uri: UnsafeRawBufferPointer) throws(ContentsError) {
        let parts = try OneTimeURI(uri, 0..<uri.count)
        func text(_ name: StaticString) -> PercentBytes? {
            parts.value(of: name).map { PercentBytes(uri, $0) }
        }
        guard let secret = text("secret") else {
            throw ContentsError(.invalid, "the otpauth URI has no secret")
        }
        key = try Base32.decode(secret)
        guard key.count > 0 else { throw ContentsError(.invalid, "the secret of the otpauth URI is empty") }
        algorithm =
            try text("algorithm").map { (name) throws(ContentsError) in try Self.algorithm(name) } ?? .sha1
        style = try Self.style(
            encoder: text("encoder"), issuer: text("issuer"), digits: try parts.number(of: "digits"))
        switch parts.kind {
        case .time:
            let period = try parts.number(of: "period") ?? 30
            guard (1...1_000_000_000).contains(period) else {
                throw ContentsError(
                    .invalid, "the period of the otpauth URI is not from 1 to 1000000000 seconds")
            }
            movement = .time(period: Int64(period))
        case .counter:
            guard let counter = try parts.number(of: "counter") else {
                throw ContentsError(.invalid, "the otpauth URI is of the kind hotp and has no counter")
            }
            movement = .counter(counter)
        }
    }

    /// The code of a moment; of a counter, the code that is next, whatever the moment.
    /// - Parameter seconds: since 1970 in UTC.
    /// - Throws: `.invalid` before 1970; `.system` when libgcrypt cannot be used or there is no memory.
    public func code(at seconds: Int64) throws(ContentsError) -> Code {
        switch movement {
        case .counter(let counter):
            return Code(text: try code(counter: counter), validUntil: nil)
        case .time(let period):
            guard seconds >= 0 else {
                throw ContentsError(.invalid, "there are no codes for times before 1970")
            }
            let steps = seconds / period
            let (end, overflow) = (seconds - seconds % period).addingReportingOverflow(period)
            return Code(text: try code(counter: UInt64(steps)), validUntil: overflow ? .max : end)
        }
    }

    /// The code of a counter, or of a number of periods since 1970.
    /// - Throws: `.system` when libgcrypt cannot be used or there is no memory.
    public func code(counter: UInt64) throws(ContentsError) -> SecretBytes {
        try KeyedHash.withHash(algorithm, key: key, of: counter) { (hash) throws(ContentsError) in
            // Dynamic truncation: RFC 4226, 5.3.
            let offset = Int(hash[hash.count - 1] & 0x0f)
            let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
            return try text(of: number)
        }
    }

    private func text(of number: UInt32) throws(ContentsError) -> SecretBytes {
        var output = SecretOutput()
        switch style {
        case .decimal(let digits):
            var divisor = (1..<digits).reduce(UInt32(1)) { power, _ in power * 10 }
            while divisor > 0 {
                try output.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                divisor /= 10
            }
        case .steam:
            // The least digit comes first.
            var rest = number
            for _ in 0..<5 {
                let letter = Int(rest % UInt32(Self.steamLetters.utf8CodeUnitCount))
                try output.append(Self.steamLetters.utf8Start[letter])
                rest /= UInt32(Self.steamLetters.utf8CodeUnitCount)
            }
        }
        return output.finish()
    }

    /// The letters and digits that are not mistaken for each other.
    private static let steamLetters: StaticString = "23456789BCDFGHJKMNPQRTVWXY"

    private static func algorithm(_ name: PercentBytes) throws(ContentsError) -> Algorithm {
        let names: [(StaticString, Algorithm)] = [
            ("SHA1", .sha1), ("SHA-1", .sha1), ("HMACSHA1", .sha1), ("SHA256", .sha256), ("SHA-256", .sha256),
            ("HMACSHA256", .sha256), ("SHA512", .sha512), ("SHA-512", .sha512), ("HMACSHA512", .sha512),
        ]
        guard let found = names.first(where: { name.equals($0.0) }) else {
            throw ContentsError(
                .unsupported, "the algorithm of the otpauth URI is none of SHA1, SHA256 and SHA512")
        }
        return found.1
    }

    private static func style(
        encoder: PercentBytes?, issuer: PercentBytes?, digits: UInt64?
    ) throws(ContentsError) -> Style {
        if let encoder {
            guard encoder.equals("steam") else {
                throw ContentsError(.unsupported, "the encoder of the otpauth URI is another than steam")
            }
            return .steam
        }
        if let issuer, issuer.equals("Steam"), digits == nil || digits == 5 { return .steam }
        let digits = digits ?? 6
        guard (6...8).contains(digits) else {
            throw ContentsError(.unsupported, "the digits of the otpauth URI are not 6, 7 or 8")
        }
        return .decimal(digits: Int(digits))
    }
}

extension OneTimePassword {
    /// Whether a text begins as an otpauth URI does.
    public static func isURI(_ text: UnsafeRawBufferPointer) -> Bool {
        OneTimeURI.begins(text, text.trimmed(0..<text.count))
    }
}
