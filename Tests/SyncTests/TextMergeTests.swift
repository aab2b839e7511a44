import OpenPGP
import System
import Testing

@testable import Sync

@Suite struct TextMergeTests {
    private func merge(_ base: String, _ ours: String, _ theirs: String) throws -> String? {
        let merged = try Array(base.utf8).withUnsafeBytes { base in
            try Array(ours.utf8).withUnsafeBytes { ours in
                try Array(theirs.utf8).withUnsafeBytes { theirs in
                    try TextMerge.merge(base: base, ours: ours, theirs: theirs)
                }
            }
        }
        return merged.map { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func oneSideOnly() throws {
        #expect(try merge("a\nb\n", "a\nb\n", "a\nc\n") == "a\nc\n")
        #expect(try merge("a\nb\n", "x\nb\n", "a\nb\n") == "x\nb\n")
        #expect(try merge("a\nb\n", "", "a\nb\n") == "")
    }

    @Test func differentLinesOfBothSides() throws {
        #expect(try merge("a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n") == "x\nb\ny\n")
        #expect(try merge("a\nb\nc\nd\n", "a\nc\nd\n", "a\nb\nc\nd\ne\n") == "a\nc\nd\ne\n")
    }

    @Test func neighbouringLinesDoNotCollide() throws {
        #expect(try merge("pw\nuser\nurl\n", "new\nuser\nurl\n", "pw\nroot\nurl\n") == "new\nroot\nurl\n")
    }

    @Test func theSameChangeOnBothSides() throws {
        #expect(try merge("a\nb\n", "a\nx\n", "a\nx\n") == "a\nx\n")
        #expect(try merge("a\nb\nc\n", "x\nb\ny\n", "x\nb\nc\n") == "x\nb\ny\n")
    }

    @Test func theSameLineInTwoWays() throws {
        #expect(try merge("a\nb\n", "x\nb\n", "y\nb\n") == nil)
        #expect(try merge("a\n", "a\nx\n", "a\ny\n") == nil)
        #expect(try merge("a", "b", "c") == nil)
        #expect(try merge("", "a\n", "b\n") == nil)
    }

    @Test func changedHereRemovedThere() throws {
        #expect(try merge("a\nb\nc\n", "a\nx\nc\n", "a\nc\n") == nil)
    }

    @Test func missingNewlineAtTheEnd() throws {
        #expect(try merge("pw\nuser", "new\nuser", "pw\nuser") == "new\nuser")
        #expect(try merge("pw", "pw\nuser: a", "pw") == "pw\nuser: a")
    }

    /// Whatever the texts, the merge holds each side's lines that the other did not touch, and one side's change alone
    /// is taken as it is.
    @Test func randomTexts() throws {
        var generator = SystemRandomNumberGenerator()
        func edited(_ lines: [String], _ mark: String) -> [String] {
            var lines = lines
            for number in 0..<Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0...lines.count, using: &generator)
                switch Int.random(in: 0...2, using: &generator) {
                case 0: lines.insert("\(mark)\(number)\n", at: place)
                case 1 where place < lines.count: lines.remove(at: place)
                case 2 where place < lines.count: lines[place] = "\(mark)\(number)!\n"
                default: break
                }
            }
            return lines
        }
        for _ in 0..<2000 {
            let base = (0..<Int.random(in: 0...6, using: &generator)).map { "\($0 % 4)\n" }
            let (ours, theirs) = (edited(base, "o"), edited(base, "t"))
            let text = { (lines: [String]) in lines.joined() }
            #expect(try merge(text(base), text(ours), text(base)) == text(ours))
            #expect(try merge(text(base), text(base), text(theirs)) == text(theirs))
            guard let merged = try merge(text(base), text(ours), text(theirs)) else { continue }
            let lines = Set(merged.split(separator: "\n").map { String($0) + "\n" })
            for line in ours where line.hasPrefix("o") { #expect(lines.contains(line)) }
            for line in theirs where line.hasPrefix("t") { #expect(lines.contains(line)) }
        }
    }

    @Test func whatIsText() {
        func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { TextMerge.isText($0) } }
        #expect(isText(Array("grün\n".utf8)))
        #expect(isText([]))
        #expect(!isText([0x61, 0, 0x62]))
        #expect(!isText([0xFF, 0xFE, 0x61]))
    }
}
