import Glibc
import Synchronization
import System
import SystemPackage
import TestKit
import Testing

@testable import Stores

/// The record of agreed recipients: nothing that a folder can be called passes for an agreement, and what cannot be
/// read is none.
@Suite struct RecipientRecordTests {
    private static let ann = String(repeating: "A", count: 40)
    private static let eve = String(repeating: "E", count: 40)

    private func entry(_ file: FilePath, _ keys: [String], store: String = "s") -> RecordContent.Entry {
        RecordContent.Entry(store: store, file: file, fingerprints: keys)
    }

    @Test(arguments: [
        "x\ns\t.gpg-id\t\(eve)\ny", "x\u{0}", "x\r\n\t", "\u{85}\u{2028}", "end", "agreed",
        "passdir agreed recipients 2",
    ])
    func anyNameIsReadAsItWasWritten(_ name: String) {
        let folder = FilePath(name.filter { $0 != "\0" })
        let entries = [
            entry(".gpg-id", [Self.ann]), entry(folder.appending(".gpg-id"), [Self.ann]),
            entry(".gpg-id", [], store: name.filter { $0 != "\0" }),
        ]
        #expect(RecordContent.parse(RecordContent.bytes(of: entries)) == .entries(entries))
    }

    @Test func aNameThatIsNoTextIsReadAsItWasWritten() {
        let entries = [entry(FilePath(platformString: [0x66, -1, 0x2f, 0x67, 0]), [Self.ann])]
        #expect(RecordContent.parse(RecordContent.bytes(of: entries)) == .entries(entries))
    }

    @Test func whatIsCutOffOrChangedIsDamaged() {
        let whole = RecordContent.bytes(of: [entry(".gpg-id", [Self.ann]), entry("a/.gpg-id", [Self.eve])])
        for count in 0..<whole.count {
            guard case .unreadable = RecordContent.parse(Array(whole[..<count])) else {
                Issue.record("cut off after \(count) bytes it was taken")
                continue
            }
        }
        guard case .unreadable = RecordContent.parse(whole + whole) else {
            Issue.record("twice it was taken")
            return
        }
    }

    /// Before version 2 a folder of this name, in others, was a line of its own.
    @Test func whatAnOlderRecordHasOfNestedFilesCountsOnlyAsFarAsTheTopHasIt() {
        let forged = "s\t.gpg-id\t\(Self.ann)\ns\ta/.gpg-id\t\(Self.ann)\ns\tteam/.gpg-id\t\(Self.eve)\n"
        #expect(
            RecordContent.parse(Array(forged.utf8))
                == .entries([
                    entry(".gpg-id", [Self.ann]), entry("a/.gpg-id", [Self.ann]), entry("team/.gpg-id", []),
                ]))
        let twice = "s\t.gpg-id\t\(Self.ann)\ns\t.gpg-id\t\(Self.ann)\t\(Self.eve)\n"
        #expect(RecordContent.parse(Array(twice.utf8)) == .entries([entry(".gpg-id", [Self.ann])]))
        for broken in ["", "s\n", "s\tx\t\(Self.ann)\n", "s\t.gpg-id\tann\n", "s\t.gpg-id\t\(Self.ann)"] {
            guard case .unreadable = RecordContent.parse(Array(broken.utf8)) else {
                Issue.record("\(broken) was taken")
                continue
            }
        }
    }

    @Test func everyIdentifierHasANameOfItsOwn() {
        let long = String(repeating: "/häuser", count: 80)
        let names = [
            "a", "path:/a", "path:/a/b", "path:/a%2Fb", "..", ".", "", "a\nb", "path:\(long)1",
            "path:\(long)2",
        ]
        let made = names.map { StateName.of($0).string }
        #expect(Set(made).count == names.count)
        #expect(made.allSatisfy { $0.utf8.count <= 255 && !$0.contains("/") && !$0.hasPrefix(".") })
    }

    @Test(arguments: ["removed", "unreadable", "damaged", "empty", "a folder", "a link"])
    func whatIsLostIsNoAgreement(_ way: String) throws {
        try TestHome.with { home in
            let file = home.path("recipients")
            let record = RecipientRecord(file: file, markers: home.path("marks"))
            #expect(record.agreement(of: ["s"]) == .never)
            try record.update(["s"]) { _ in [entry(".gpg-id", [Self.ann])] }
            #expect(record.agreement(of: ["s"]) == .known([entry(".gpg-id", [Self.ann])]))
            switch way {
            case "removed": #expect(unlink(file.string) == 0)
            case "unreadable": try home.succeed(["sh", "-c", "rm recipients; ln -s /proc/1/mem recipients"])
            case "damaged": try home.write("passdir agreed recipients 2\0agreed", to: "recipients")
            case "empty": try home.write("", to: "recipients")
            case "a folder": try home.succeed(["sh", "-c", "rm recipients; mkdir recipients"])
            default: try home.succeed(["sh", "-c", "mv recipients r; ln -s r recipients"])
            }
            guard case .lost = record.agreement(of: ["s"]) else {
                Issue.record("\(record.agreement(of: ["s"]))")
                return
            }
            guard way != "a folder" else { return }
            // Agreed to anew, it is whole again; another store that had an agreement has none.
            try record.update(["s"]) { _ in [entry(".gpg-id", [Self.eve])] }
            #expect(record.agreement(of: ["s"]) == .known([entry(".gpg-id", [Self.eve])]))
        }
    }

    /// Holds:
    /// - While one process records a store for the first time, another one finds that it was never recorded, or what is
    ///   recorded now, and never that the record is lost.
    @Test(.slow) func theFirstRecordIsNoLostOne() throws {
        try TestHome.with { home in
            let (file, markers) = (home.path("recipients"), home.path("agreed"))
            let entries = [entry(".gpg-id", [Self.ann])]
            let isDone = Atomic<Bool>(false)
            let lost = Atomic<Int>(0)
            let reader = try PosixThread(named: "reader") {
                while !isDone.load(ordering: .relaxed) {
                    if case .lost = RecipientRecord(file: file, markers: markers).agreement(of: ["s"]) {
                        lost.wrappingAdd(1, ordering: .relaxed)
                    }
                }
            }
            for _ in 0..<100 {
                try RecipientRecord(file: file, markers: markers).update(["s"]) { _ in entries }
                // The marker first.
                try home.succeed(["rm", "-r", markers.string])
                try home.succeed(["rm", file.string])
            }
            isDone.store(true, ordering: .relaxed)
            reader.join()
            #expect(lost.load(ordering: .relaxed) == 0)
        }
    }
}
