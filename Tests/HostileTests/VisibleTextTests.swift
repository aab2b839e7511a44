import Stores
import Testing
import System

/// The filter that every printer applies.
@Suite struct VisibleTextTests {
    /// Text as others write it, and what is shown of it.
    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var shown: String
        var testDescription: String { shown }

        init(_ text: String, _ shown: String) {
            (self.text, self.shown) = (text, shown)
        }
    }

    @Test(arguments: [
        Row("mail/imap", "mail/imap"),
        Row("a\nb", "a\\u{A}b"), Row("a\r\nb", "a\\u{D}\\u{A}b"), Row("a\tb", "a\\u{9}b"),
        Row("\u{1B}[2J", "\\u{1B}[2J"), Row("\u{1B}]0;title\u{7}", "\\u{1B}]0;title\\u{7}"),
        Row("a\u{8}b\u{7F}", "a\\u{8}b\\u{7F}"), Row("a\0b", "a\\u{0}b"),
        Row("\u{9B}31m\u{85}", "\\u{9B}31m\\u{85}"),
        Row("photo\u{202E}gpj.exe", "photo\\u{202E}gpj.exe"),
        Row("\u{2066}a\u{2069}\u{200E}\u{200F}\u{61C}", "\\u{2066}a\\u{2069}\\u{200E}\\u{200F}\\u{61C}"),
        Row("a\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}b", "a\\u{200B}\\u{200C}\\u{200D}\\u{2060}\\u{FEFF}b"),
        Row("\u{E0041}\u{E007F}", "\\u{E0041}\\u{E007F}"),
        Row("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        Row("a\u{AD}b\u{34F}c\u{3164}d\u{115F}", "a\\u{AD}b\\u{34F}c\\u{3164}d\\u{115F}"),
        Row("a\u{FE0F}\u{E0100}", "a\\u{FE0F}\\u{E0100}"), Row("❤️ bank", "❤️ bank"),
        Row("a\u{2800}\u{E000}\u{F8FF}\u{10FFFD}⠃", "a\\u{2800}\\u{E000}\\u{F8FF}\\u{10FFFD}⠃"),
        Row("Müller/日本語/ключ/🔑", "Müller/日本語/ключ/🔑"),
        // A backslash is itself, unless it would read as an escape of ours.
        Row("DOMAIN\\user", "DOMAIN\\user"), Row("a\\u{202E}b", "a\\u{5C}u{202E}b"), Row("\\", "\\"),
        Row("é\\u", "é\\u"),
    ])
    func line(_ row: Row) {
        #expect(VisibleText.line(row.text) == row.shown)
    }

    /// Of a secret, which has lines of its own, and may be no UTF-8.
    @Test func text() throws {
        func shown(_ bytes: [UInt8]) throws -> String {
            let text = try bytes.withUnsafeBytes { try VisibleText.text($0) }
            return text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try shown([]) == "")
        #expect(
            try shown(Array("a\n\tb\r\nc\u{1B}[2J\u{9B}1m\0".utf8))
                == "a\n\tb\\u{D}\nc\\u{1B}[2J\\u{9B}1m\\u{0}")
        #expect(try shown(Array("\u{202E}é日❤️🔑\\u{1B}\\".utf8)) == "\\u{202E}é日❤️🔑\\u{1B}\\")
        #expect(
            try shown([0x61, 0x9B, 0x33, 0xC3, 0x28, 0xE2, 0x82, 0xFF]) == "a\\x9B3\\xC3(\\xE2\\x82\\xFF")
    }

    @Test func differentTextsAreShownDifferently() {
        let parts = ["\\", "u", "{", "A", "}", "\n", "\u{5C}", "5C"]
        var texts: Set<String> = [""]
        for _ in 0..<5 { texts = Set(texts.flatMap { text in parts.map { text + $0 } }).union(texts) }
        #expect(Set(texts.map(VisibleText.line)).count == texts.count)
    }

    @Test func longTextIsCut() {
        let endless = String(repeating: "x\u{1B}", count: 100_000)
        #expect(VisibleText.line(endless, atMost: 100).count == 100)
        #expect(VisibleText.line(endless, atMost: 100).hasSuffix("…"))
        #expect(VisibleText.line("short", atMost: 5) == "short")
    }

    @Test func jsonKeepsEveryCharacter() {
        #expect(
            VisibleText.json("[\"a\u{202E}\u{9B}\u{E0041}é\u{7F}\"]")
                == "[\"a\\u202E\\u009B\\uDB40\\uDC41é\\u007F\"]")
    }
}
