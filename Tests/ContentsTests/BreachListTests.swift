import Contents
import SystemPackage
import Testing

/// Lists of breaches, searched without being read.
@Suite struct BreachListTests {
    /// Sorted lines of hashes of "0", "2", "4" and so on.
    private static func lines(_ count: Int, ending: String = "\r\n") throws -> [String] {
        try (0..<count).map { number in
            try hexadecimal("\(number * 2)").uppercased() + ":\(number % 97 + 1)\(ending)"
        }.sorted()
    }

    private static func hexadecimal(_ password: String) throws -> String {
        let digits = password.withBytes { bytes in
            PasswordHash.withSHA1(of: bytes) { (hash) throws(Never) in
                hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
        }
        return try #require(digits)
    }

    private final class Readings {
        var count = 0
        var bytes = 0
    }

    private func list(_ text: String, _ readings: Readings = Readings()) throws -> BreachList {
        let bytes = Array(text.utf8)
        return try BreachList(size: Int64(bytes.count)) { (offset, count) throws(Errno) in
            readings.count += 1
            let start = min(max(Int(offset), 0), bytes.count)
            let piece = Array(bytes[start..<min(start + count, bytes.count)])
            readings.bytes += piece.count
            return piece
        }
    }

    private func has(_ list: BreachList, _ password: String) throws -> Bool {
        let found = try password.withBytes { bytes in
            try PasswordHash.withSHA1(of: bytes) { (hash) throws(ContentsError) in try list.contains(hash) }
        }
        return found == true
    }

    @Test func theHashIsSHA1() throws {
        #expect(try Self.hexadecimal("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    }

    /// Every line of 50,000 is found, what lies between them is not, and little is read for it.
    @Test(arguments: ["\r\n", "\n"]) func exactlyItsLinesAreFound(_ ending: String) throws {
        let count = 50_000
        let lines = try Self.lines(count, ending: ending)
        let readings = Readings()
        for text in [lines.joined(), String(lines.joined().dropLast(ending.utf8.count))] {
            let list = try list(text, readings)
            for number in stride(from: 0, to: count, by: 37) {
                let before = readings.bytes
                #expect(try has(list, "\(number * 2)"), "\(number * 2)")
                #expect(try !has(list, "\(number * 2 + 1)"), "\(number * 2 + 1)")
                #expect(readings.bytes - before < 40_000)
            }
            for line in lines.prefix(3) + lines.suffix(3) {
                let digits = Array(line.utf8.prefix(40)).map {
                    UInt8(String(UnicodeScalar($0)), radix: 16) ?? 0
                }
                let hash = (0..<20).map { digits[$0 * 2] << 4 | digits[$0 * 2 + 1] }
                #expect(try hash.withUnsafeBytes { try list.contains($0) }, "\(line)")
            }
            for end in [UInt8.min, .max] {
                let hash = [UInt8](repeating: end, count: 20)
                #expect(try !hash.withUnsafeBytes { try list.contains($0) })
            }
        }
    }

    /// Lists of any length, in either case and without counts.
    @Test(arguments: [1, 2, 3, 80, 90, 100, 200]) func shortListsAreSearched(_ count: Int) throws {
        let lines = try Self.lines(count, ending: "\n")
        for text in [lines.joined(), lines.map { $0.prefix(40) + "\n" }.joined().lowercased()] {
            let list = try list(text)
            for number in 0..<count {
                #expect(try has(list, "\(number * 2)") && !has(list, "\(number * 2 + 1)"), "\(number)")
            }
        }
    }

    @Test(arguments: [
        ("", "it is empty"), ("password\n", "SHA1HEX:COUNT"),
        ("0123456789abcdef0123456789abcdef:3\n", "SHA1HEX:COUNT"),
        (String(repeating: "a", count: 500), "SHA1HEX:COUNT"),
        (
            "\(String(repeating: "F", count: 40)):1\n\(String(repeating: "0", count: 40)):1\n",
            "it is not sorted"
        ),
    ])
    func anotherFileIsRefused(_ text: String, _ said: String) {
        let failure = failure { _ = try list(text) }
        #expect(failure?.code == .invalid)
        #expect(failure?.message.contains(said) == true, "\(failure?.message ?? "")")
    }

    /// One that is sorted by how often passwords were seen says so at the latest when it is searched.
    @Test func anUnsortedListIsNoticed() throws {
        var lines = try Self.lines(5_000)
        lines.swapAt(1, 4_000)
        lines = [lines[0]] + lines[1..<4_999].reversed() + [lines[4_999]]
        let list = try list(lines.joined())
        let failure = failure { for number in 0..<50 { _ = try has(list, "\(number)") } }
        #expect(failure?.message.contains("not sorted") == true)
    }
}
