/// An otpauth URI with random parameters, and what oathtool makes of them.
struct RandomURI {
    let uri: String
    /// The counters whose codes are compared.
    let counters: [UInt64]
    /// A time in the first of them.
    let seconds: Int64?
    private let words: [String]

    private static let codeCount = 4

    init(_ numbers: inout SeededNumbers) {
        let isTimed = Int.random(in: 0..<4, using: &numbers) > 0
        // Keys that are longer than a block of the hash are hashed first.
        let length = Int.random(in: 1...(Bool.random(using: &numbers) ? 40 : 150), using: &numbers)
        let key = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &numbers) }
        let digits = Int.random(in: 6...8, using: &numbers)
        // oathtool counts with SHA-1 only.
        let algorithm = isTimed ? ["SHA1", "SHA256", "SHA512"].randomElement(using: &numbers)! : "SHA1"
        let period = [1, 15, 30, 60, Int.random(in: 2...86_400, using: &numbers)].randomElement(
            using: &numbers)!
        let first: UInt64
        var parameters = ["secret=" + Self.written(key, &numbers), "issuer=Ex%20ample", "image=x"]
        if digits != 6 || Bool.random(using: &numbers) { parameters.append("digits=\(digits)") }
        if isTimed {
            let seconds = Int64.random(in: 0...4_000_000_000, using: &numbers)
            first = UInt64(seconds / Int64(period))
            self.seconds = seconds
            if period != 30 || Bool.random(using: &numbers) { parameters.append("period=\(period)") }
            if algorithm != "SHA1" || Bool.random(using: &numbers) {
                parameters.append(
                    "algorithm=" + (Bool.random(using: &numbers) ? algorithm : algorithm.lowercased()))
            }
            words =
                ["--totp=\(algorithm.lowercased())", "--time-step-size=\(period)s", "--now=@\(seconds)"]
                + Self.commonWords(key, digits)
        } else {
            first = UInt64.random(in: 0...1 << 53, using: &numbers)
            seconds = nil
            parameters.append("counter=\(first)")
            words = ["--hotp", "--counter=\(first)"] + Self.commonWords(key, digits)
        }
        parameters.shuffle(using: &numbers)
        uri = "otpauth://\(isTimed ? "totp" : "hotp")/Ex%20ample:ann?" + parameters.joined(separator: "&")
        counters = (0..<Self.codeCount).map { first + UInt64($0) }
    }

    /// The codes of the counters of each, by the other implementation.
    static func oathtoolCodes(of samples: [RandomURI]) throws -> [[String]] {
        let lines = samples.map { $0.words.joined(separator: " ") + "\n" }.joined()
        let codes = try run(["xargs", "-L", "1", "oathtool"], input: Array(lines.utf8)).split(separator: "\n")
        return stride(from: 0, to: codes.count, by: codeCount).map {
            codes[$0..<$0 + codeCount].map(String.init)
        }
    }

    private static func commonWords(_ key: [UInt8], _ digits: Int) -> [String] {
        let digitsOfKey = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ["--digits=\(digits)", "--window=\(codeCount - 1)", digitsOfKey]
    }

    /// A key in one of the ways that people and services write it.
    private static func written(_ key: [UInt8], _ numbers: inout SeededNumbers) -> String {
        var text = Base32Text.encode(key)
        let padding = String(repeating: "=", count: (8 - text.count % 8) % 8)
        switch Int.random(in: 0..<3, using: &numbers) {
        case 0: text += padding
        case 1: text += padding.map { _ in "%3D" }.joined()
        default: break
        }
        if Bool.random(using: &numbers) { text = text.lowercased().replacing("%3d", with: "%3D") }
        guard Bool.random(using: &numbers) else { return text }
        let separator = ["-", "%20", " ", "+"].randomElement(using: &numbers)!
        // In groups of four, but for the padding.
        let letters = text.prefix { $0 != "=" && $0 != "%" }
        let groups = stride(from: 0, to: letters.count, by: 4).map { String(letters.dropFirst($0).prefix(4)) }
        return groups.joined(separator: separator) + text.dropFirst(letters.count)
    }
}

/// Base 32 of RFC 4648, without padding.
enum Base32Text {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    static func encode(_ bytes: [UInt8]) -> String {
        var (text, bits, count) = ("", 0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(letters[bits >> count & 31])
            }
            bits &= 1 << count - 1
        }
        if count > 0 { text.append(letters[bits << (5 - count) & 31]) }
        return text
    }
}
