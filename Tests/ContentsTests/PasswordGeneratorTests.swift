import Contents
import System
import Testing

/// Gives bytes that a test has chosen, and 0 after them.
private final class ScriptedSource: RandomSource, @unchecked Sendable {
    // Used by one thread.
    private var rest: ArraySlice<UInt8>
    private(set) var fills = 0

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    func fill(_ target: UnsafeMutableRawBufferPointer) throws(ContentsError) {
        fills += 1
        for index in target.indices { target[index] = rest.popFirst() ?? 0 }
    }
}

private struct BrokenSource: RandomSource {
    func fill(_ target: UnsafeMutableRawBufferPointer) throws(ContentsError) {
        throw ContentsError(.system, "no bytes")
    }
}

@Suite struct PasswordGeneratorTests {
    @Test func standardsAreThoseOfPass() throws {
        let password = try PasswordGenerator().characters()
        #expect(password.text.count == 25)
        #expect(password.text.array.allSatisfy { (0x21...0x7e).contains($0) })
        #expect(PasswordCharacters.all.count == 94)
        #expect(PasswordCharacters.withoutSymbols.count == 62)
        #expect(try PasswordCharacters("[:punct:][:alnum:]") == .all)
        #expect(try PasswordCharacters("[:alnum:]") == .withoutSymbols)
    }

    /// Every byte once: each character of the set comes out as often as every other, and bytes beyond the last whole multiple of
    /// its size make none.
    @Test(arguments: ["abc", "a", "0-9", "[:alnum:]", "[:graph:]", "[:print:]"])
    func charactersAreEquallyLikely(_ text: String) throws {
        let set = try PasswordCharacters(text)
        let whole = 256 / set.count
        let source = ScriptedSource((0...255).map { UInt8($0) })
        let password = try PasswordGenerator(source: source).characters(whole * set.count, from: set)
        let counts = Dictionary(password.text.array.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(counts.count == set.count)
        #expect(counts.values.allSatisfy { $0 == whole })
        #expect(source.fills == 1)
    }

    @Test func bytesThatWouldFavourSomeAreThrownAway() throws {
        // 256 is 85 times 3, and 1.
        let source = ScriptedSource([255, 255, 254, 255, 0])
        #expect(
            try PasswordGenerator(source: source).characters(2, from: PasswordCharacters("abc")).text.text
                == "ca")
        // A whole stock of them asks for another.
        let refused = ScriptedSource([UInt8](repeating: 255, count: 600) + [1])
        #expect(
            try PasswordGenerator(source: refused).characters(1, from: PasswordCharacters("abc")).text.text
                == "b")
        #expect(refused.fills == 3)
    }

    @Test func allCharactersComeFromTheKernel() throws {
        let set = try PasswordCharacters("a-cX")
        let text = try PasswordGenerator().characters(1000, from: set).text.array
        #expect(Set(text) == Set("abcX".utf8))
    }

    @Test func entropyIsTold() throws {
        let generator = PasswordGenerator()
        #expect(try generator.characters(8, from: PasswordCharacters("ab")).bits == 8)
        #expect(abs(try generator.characters().bits - 163.864) < 0.001)
        #expect(abs(try generator.words(6).bits - 77.549) < 0.001)
    }

    @Test func wordsAreOfTheList() throws {
        #expect(WordList.eff.count == 7776)
        let scripted = ScriptedSource([0, 0, 0, 1, 0x1e, 0x5f])
        #expect(try PasswordGenerator(source: scripted).words(3).text.text == "abacus-abdomen-zoom")
        // 8 times 7776 is 62208, 0xf300: what lies beyond is thrown away.
        let refused = ScriptedSource([0xf3, 0, 0xf2, 0xff])
        #expect(try PasswordGenerator(source: refused).words(1).text.text == "zoom")
        #expect(
            try PasswordGenerator(source: ScriptedSource([])).words(2, separator: "").text.text
                == "abacusabacus")
    }

    @Test func impossibleOnesAreErrors() throws {
        let generator = PasswordGenerator()
        for length in [0, -1, 4097] {
            #expect(failure { _ = try generator.characters(length) }?.code == .invalid)
            #expect(failure { _ = try generator.words(length) }?.code == .invalid)
        }
        #expect(try generator.characters(4096).text.count == 4096)
        #expect(failure { _ = try generator.words(2, separator: "\n") }?.code == .invalid)
        let broken = PasswordGenerator(source: BrokenSource())
        #expect(failure { _ = try broken.characters() } == ContentsError(.system, "no bytes"))
    }
}
