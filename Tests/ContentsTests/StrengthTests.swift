import Contents
import System
import Testing

@Suite struct StrengthTests {
    private func magnitude(_ password: String) throws -> Double {
        try password.withBytes { try Strength(of: $0) }.magnitude
    }

    /// What zxcvbn 4.5.0 for Python makes of the same, where its larger dictionaries do not matter.
    @Test(arguments: [
        ("password", 0.477), ("P@ssw0rd", 1.23), ("drowssap", 0.699), ("x", 1.079), ("trustno1", 1.568),
        ("abcdefgh", 1.519), ("24.12.1987", 4.641), ("qwertyuiop", 1.362), ("kX9#vQ2!mZ7$", 12.0),
        ("zaq12wsx", 2.682),
    ])
    func figuresAreThoseOfZxcvbn(_ password: String, _ expected: Double) throws {
        let found = try magnitude(password)
        #expect(abs(found - expected) < 0.3, "\(found)")
    }

    /// Each is weaker than the next.
    @Test(arguments: [
        ["", "password", "password1", "passw0rd1", "pa55w0rD1!", "kX9#vQ2!mZ7$"],
        ["aaaaaaaa", "aaaaaaab", "axaybzcq"],
        ["dragon", "nogard", "Nogard", "NogarD7", "N0garD7x"],
        ["1987", "24121987", "24.12.1987", "2412198724x8"],
        ["abcdef", "mnopqr", "fedcba", "apfwlz"],
        ["qwertz", "qwerfdsazx", "qTgBfRz8Pw"],
        ["abacus", "abacus-zoom", "abacus-zoom-yodel", "abacus-zoom-yodel-widget"],
        ["xkqvxkqv", "xkqvxkqvxkqv", "xkqvjwzpxkqb"],
    ])
    func weakerComesFirst(_ passwords: [String]) throws {
        let magnitudes = try passwords.map(magnitude)
        for index in 1..<passwords.count {
            #expect(magnitudes[index - 1] < magnitudes[index], "\(passwords[index]): \(magnitudes)")
        }
    }

    @Test func whatIsGeneratedIsStrong() throws {
        let generator = PasswordGenerator()
        for _ in 0..<20 {
            let password = try generator.characters()
            let strength = try password.text.withUnsafeBytes { try Strength(of: $0) }
            #expect(strength.score == 4)
            #expect(strength.magnitude > 18)
            let phrase = try generator.words(6).text.withUnsafeBytes { try Strength(of: $0) }
            #expect(phrase.magnitude > 18)
            #expect(phrase.magnitude < 40)
        }
    }

    @Test func scoresAreThoseOfZxcvbn() throws {
        func score(_ password: String) throws -> Int { try password.withBytes { try Strength(of: $0) }.score }
        #expect(
            try ["password", "D0gD0g8", "xkqvjw3", "xkqvjw3zp", "kX9#vQ2!mZ7$"].map(score) == [0, 1, 2, 3, 4])
        #expect(try "x".withBytes { try Strength(of: $0) }.bits > 3.5)
    }

    /// Long and awkward inputs end, and only their beginning counts.
    @Test(arguments: ["a", "ab", "1", "q", "0a", "-", "password", "\u{0}", "é"])
    func longInputsAreBounded(_ unit: String) throws {
        let long = String(repeating: unit, count: 100_000)
        let strength = try long.withBytes { try Strength(of: $0) }
        let counted = try Array(long.utf8.prefix(Strength.lengthLimit)).withUnsafeBytes {
            try Strength(of: $0)
        }
        #expect(strength == counted)
        #expect(strength.magnitude.isFinite)
        #expect(strength.magnitude < 12)
    }

    @Test func randomBytesAreBorne() throws {
        var numbers = SeededNumbers(2)
        for length in [1, 2, 3, 7, 60, 128, 500] {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &numbers) }
            let magnitude = try bytes.withUnsafeBytes { try Strength(of: $0) }.magnitude
            #expect(magnitude.isFinite)
            #expect(magnitude <= Double(min(length, 128)) + 1)
        }
    }
}
