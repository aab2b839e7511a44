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
        // Only a line feed ends a line: what an editor or a terminal shows as two lines is one name.
        ("A\u{85}B\n", ["A\u{85}B"]), ("A\u{2028}B\n", ["A\u{2028}B"]), ("A\u{2029}B\n", ["A\u{2029}B"]),
        ("A\u{0B}B\n", ["A\u{0B}B"]), ("A\u{0C}B\n", ["A\u{0C}B"]), ("A\rB\n", ["A\rB"]),
        // Only spaces and tabs are blank.
        ("\u{A0}A\u{A0}\n", ["\u{A0}A\u{A0}"]), ("\u{2003}A\n", ["\u{2003}A"]),
        ("\u{0B}A\u{0C}\n", ["\u{0B}A\u{0C}"]),
        ("\rA\n", ["\rA"]), ("\u{FEFF}A\n", ["\u{FEFF}A"]), ("# a\u{85}B\n", []), ("# a\u{2028}B\n", []),
        ("# a\rB\n", []), ("A\u{301}#\u{301}B\n", ["A\u{301}"]),
    ])
    func lines(_ text: String, _ expected: [String]) {
        #expect(RecipientFile(text).lines == expected)
        #expect(RecipientFile(parsing: Array(text.utf8))?.lines == expected)
    }

    @Test func whatIsNoTextIsRefused() {
        #expect(RecipientFile(parsing: [0x41, 0xFF, 0x0A]) == nil)
        #expect(RecipientFile(parsing: [0x41, 0, 0x42, 0x0A]) == nil)
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
                store: "path:/a b", phase: .placing, folder: folder.map { .init($0) },
                applied: folder.map { .init($0 + "/.gpg-id") }, message: "Reencrypt to A, B (a).\n",
                skipsUnreadable: true, accepted: [String(repeating: "A", count: 40)],
                planned: [
                    PlannedSecret(path: "a/x.gpg"),
                    PlannedSecret(path: "ä/ü\n.gpg", content: ContentIdentity("7.123.17.9")),
                    PlannedSecret(path: FilePath(platformString: [0x66, -1, 0]), readers: ["A", "B"]),
                ])
            #expect(ChangeJournal(journal.bytes) == journal)
            #expect(ChangeJournal(Array(journal.bytes.dropLast(5))) == nil)
        }
        let empty = ChangeJournal(
            store: "x", phase: .staging, folder: nil, applied: nil, message: "", skipsUnreadable: false,
            accepted: [], planned: [])
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
