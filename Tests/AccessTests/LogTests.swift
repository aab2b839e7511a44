import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Access

/// What is kept of reads.
@Suite struct LogTests {
    private func line(_ secret: String, at time: Int64, _ outcome: AccessOutcome = .allowed) -> AccessLine {
        let reader = Reader(program: Program(path: "/bin/cat", fingerprint: ""), words: ["cat", "x\u{1F}y"])
        return AccessLine(reader, secret, Decision(outcome: .allow, rule: nil), outcome, at: time)
    }

    @Test func likeReadsWithinAMinuteAreOneLine() throws {
        try TestHome.with { home in
            let database = try AccessDatabase(file: home.path("access.sqlite"))
            let now = FileTime.now.seconds
            let keep = Duration.seconds(3600)
            database.add(
                [line("work/a", at: now), line("work/a", at: now), line("work/b", at: now)], keeping: keep)
            database.add(
                [line("work/a", at: now + 59), line("work/a", at: now + 59, .denied)], keeping: keep)
            database.add([line("work/a", at: now + 61)], keeping: keep)
            let lines = try database.lines()
            #expect(
                lines.map { "\($0.secret) \($0.count) \($0.outcome)" }.sorted()
                    == ["work/a 1 allowed", "work/a 1 denied", "work/a 3 allowed", "work/b 1 allowed"])
            #expect(lines.allSatisfy { $0.words == ["cat", "x y"] })
            #expect(try database.lines(.init(place: "work/a")).count == 3)
            #expect(try database.lines(.init(place: "wor")).isEmpty)
            #expect(try database.lines(.init(program: "cat", since: now + 60)).count == 1)
            #expect(try database.lines(.init(after: lines.last?.revision)).isEmpty)
            #expect(
                database.firstReads(in: [line("work/a", at: now), line("work/c", at: now)]).map(\.secret) == [
                    "work/c"
                ])
            // What is older than it is kept goes with the next line.
            database.add([line("work/d", at: now)], keeping: .seconds(-120))
            #expect(try database.lines().isEmpty)
            let mode = try #require(home.path("access.sqlite").facts()).st_mode & 0o777
            #expect(mode == 0o600)
        }
    }

    @Test func aProgramThatChangedIsNoticed() throws {
        try TestHome.with { home in
            let database = try AccessDatabase(file: home.path("access.sqlite"))
            #expect(!database.hasChanged(Program(path: "/bin/x", fingerprint: "1")))
            #expect(!database.hasChanged(Program(path: "/bin/x", fingerprint: "1")))
            #expect(database.hasChanged(Program(path: "/bin/x", fingerprint: "2")))
        }
    }
}
