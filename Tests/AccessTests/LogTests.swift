import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Access

/// What is kept of reads.
@Suite struct LogTests {
    private func line(
        _ secret: String, at time: Int64, _ outcome: AccessOutcome = .allowed, program: String = "/bin/cat"
    ) -> AccessLine {
        let reader = Reader(program: Program(path: program, fingerprint: ""), words: ["cat", "x\u{1F}y"])
        return AccessLine(
            JudgedRead(reader, secret, Decision(outcome: .allow, rule: nil)), outcome, at: time)
    }

    @Test func likeReadsWithinAMinuteAreOneLine() throws {
        try TestHome.with { home in
            let database = try AccessDatabase(file: home.path("access.sqlite"))
            let now = FileTime.now.seconds
            let keep = Duration.seconds(3600)
            try database.add(
                [line("work/a", at: now), line("work/a", at: now), line("work/b", at: now)], keeping: keep)
            try database.add(
                [line("work/a", at: now + 59), line("work/a", at: now + 59, .denied)], keeping: keep)
            try database.add([line("work/a", at: now + 61)], keeping: keep)
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
            try database.add([line("work/d", at: now)], keeping: .seconds(-120))
            #expect(try database.lines().isEmpty)
            let mode = try #require(home.path("access.sqlite").facts()).st_mode & 0o777
            #expect(mode == 0o600)
        }
    }

    @Test func likeReadsThatFollowOneAnotherAreAllCounted() throws {
        try TestHome.with { home in
            let file = home.path("access.sqlite")
            let log = AccessLog(file: file) { _, _ in }
            var options = AccessOptions()
            options.log = true
            log.use(options)
            for read in ["cat a", "cat a", "cat b", "cat a", "head a", "head a", "cat b", "cat b"] {
                let words = read.split(separator: " ")
                let reader = Reader(program: Program(path: "/bin/\(words[0])", fingerprint: ""))
                log.note(reader, "work/\(words[1])", Decision(outcome: .allow, rule: nil), .allowed)
            }
            log.close()
            let lines = try AccessDatabase(file: file).lines()
            #expect(
                lines.map { "\($0.program) \($0.secret) \($0.count)" }.sorted()
                    == ["/bin/cat work/a 3", "/bin/cat work/b 3", "/bin/head work/a 2"])
        }
    }

    /// Holds:
    /// - A program of one path that floods the access log drives out its own lines and no others, and the log says how many are gone.
    @Test(arguments: [AccessDatabase.Bounds(lines: 100), AccessDatabase.Bounds(bytes: 1 << 20)])
    func whoFloodsTheLogLosesItsOwnLines(_ bounds: AccessDatabase.Bounds) throws {
        try TestHome.with { home in
            let file = home.path("access.sqlite")
            let database = try AccessDatabase(file: file, bounds: bounds)
            let now = FileTime.now.seconds
            let keep = Duration.seconds(3600)
            try database.add(
                (0..<20).map { line("work/\($0)", at: now, .denied, program: "/bin/evil") }, keeping: keep)
            try database.add((0..<20).map { line("work/\($0)", at: now) }, keeping: keep)
            let long = String(repeating: "x", count: bounds.lines == 100 ? 10 : 4000)
            for round in 0..<10 {
                let flood = (0..<50).map {
                    line("work/\(long)\(round).\($0)", at: now, program: "/bin/flood")
                }
                try database.add(flood, keeping: keep)
            }
            let counts = Dictionary(grouping: try database.lines(), by: \.program).mapValues(\.count)
            #expect(counts["/bin/evil"] == 20 && counts["/bin/cat"] == 20, "\(counts)")
            let left = try #require(counts["/bin/flood"])
            #expect(left > 20 && left + 40 <= bounds.lines)
            let dropped = try database.droppedLines()
            #expect(dropped == [DroppedLines(program: "/bin/flood", count: 500 - left, last: now)])
            if bounds.lines > 100 { #expect(try #require(file.facts()).st_size < 3 << 20) }
            // It is forgotten when the lines would be.
            try database.add([line("work/z", at: now)], keeping: .seconds(-120))
            #expect(try database.droppedLines().isEmpty)
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
