import SystemPackage
import Testing

@testable import Stores

/// `.gpg-id` as pass reads it: `while read -r gpg_id; do gpg_id="${gpg_id%%#*}"; …`.
@Suite struct RecipientFileTests {
    @Test(arguments: [
        ("A\n", ["A"]),
        ("A", ["A"]),
        ("", []),
        ("\n\n# only a comment\n", []),
        ("A\r\nB\r\n", ["A", "B"]),
        ("  A  \n\tB\t# Bob\n", ["A", "B"]),
        ("# Ann\nA # her key\n\nAnn Other <ann@example.org>\n", ["A", "Ann Other <ann@example.org>"]),
        ("0xDEADBEEF!\nteam\n", ["0xDEADBEEF!", "team"]),
        ("#A\n", []),
    ])
    func lines(_ text: String, _ expected: [String]) {
        #expect(RecipientFile(text).lines == expected)
        #expect(RecipientFile(parsing: Array(text.utf8))?.lines == expected)
    }

    @Test func whatIsNoTextIsRefused() {
        #expect(RecipientFile(parsing: [0x41, 0xFF, 0x0A]) == nil)
    }

    @Test func addingKeepsTheRest() {
        #expect(RecipientFile("# ours\nA\n").adding("B").text == "# ours\nA\nB\n")
        #expect(RecipientFile("A").adding("B").text == "A\nB\n")
        #expect(RecipientFile("").adding("B").text == "B\n")
        #expect(RecipientFile("A\r\n").adding("B").lines == ["A", "B"])
    }

    @Test func removingKeepsTheRest() {
        let file = RecipientFile("# ours\nA # Ann\n\nB\r\nC")
        #expect(file.removing { $0 == "A" }.text == "# ours\n\nB\r\nC")
        #expect(file.removing { $0 == "B" }.text == "# ours\nA # Ann\n\nC")
        #expect(file.removing { $0 == "C" }.text == "# ours\nA # Ann\n\nB\r\n")
        #expect(file.removing { _ in false } == file)
    }

    @Test func aFileOfLinesIsWhatPassWrites() {
        #expect(RecipientFile(lines: ["A", "B"]).text == "A\nB\n")
    }
}

@Suite struct ChangeJournalTests {
    @Test func isReadAsItWasWritten() throws {
        for folder in [nil, "", "a/b c"] as [String?] {
            let journal = ChangeJournal(
                phase: .placing, folder: folder.map { .init($0) }, message: "Reencrypt to A, B (a).\n",
                skipsUnreadable: true, secrets: ["a/x.gpg", "ä/ü\n.gpg"])
            #expect(ChangeJournal(journal.bytes) == journal)
            #expect(ChangeJournal(Array(journal.bytes.dropLast(5))) == nil)
        }
        let empty = ChangeJournal(
            phase: .staging, folder: nil, message: "", skipsUnreadable: false, secrets: [])
        #expect(ChangeJournal(empty.bytes) == empty)
        #expect(ChangeJournal([]) == nil)
    }

    @Test func stagedNamesHoldBothIdentities() {
        let one = ContentIdentity("7.123.1700000000.999999999")
        let other = ContentIdentity("8.1.-5.0")
        #expect(one != nil && other != nil && one != other)
        guard let one, let other else { return }
        let name = StagedName(index: 12, old: one, new: other)
        #expect(name.path.lastComponent.flatMap { StagedName($0.string) } == name)
        for text in ["journal", ".gitignore", "part-3", "recipients-new", "1_2_3", "x_1.1.1.1_1.1.1.1"] {
            #expect(StagedName(text) == nil, "\(text)")
        }
    }
}
