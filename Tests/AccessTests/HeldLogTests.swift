import Glibc
import System
import SystemPackage
import TestKit
import Testing

@testable import Access

/// The log while another program holds its file.
@Suite struct HeldLogTests {
    private func noting(_ log: AccessLog) {
        var options = AccessOptions()
        options.log = true
        log.use(options)
    }

    /// A log into which a read of work/a was noted.
    private func withLine(
        name: String = #function, _ body: (TestHome, FilePath, AccessLog) throws -> Void
    ) throws {
        try TestHome.with(name) { home in
            let file = home.path("access.sqlite")
            let log = AccessLog(file: file) { _, _ in }
            noting(log)
            note(["work/a"], in: log)
            try body(home, file, log)
        }
    }

    private func note(_ secrets: [String], _ program: String = "/bin/cat", in log: AccessLog) {
        let reader = Reader(program: Program(path: program, fingerprint: ""))
        for secret in secrets { log.note(reader, secret, Decision(outcome: .allow, rule: nil), .allowed) }
    }

    /// Waits until a table has so many rows. Another process looks: whoever closes the file here takes the log's hold on it.
    private func waitForRows(_ count: Int, _ table: String, of file: FilePath, in home: TestHome) throws {
        let program = """
            import sqlite3, sys
            base = sqlite3.connect(sys.argv[1])
            sys.exit(base.execute("SELECT count(*) FROM " + sys.argv[2]).fetchone()[0] < int(sys.argv[3]))
            """
        try home.waitUntil("what waited is in the file") {
            try access(file.string, F_OK) == 0
                && home.run(["python3", "-c", program, file.string, table, "\(count)"]).exitCode == 0
        }
    }

    /// Runs `body` while another program holds the file's lock.
    private func whileHeld(_ file: FilePath, in home: TestHome, _ body: () throws -> Void) throws {
        let holding = """
            import os, sqlite3, sys, time
            base = sqlite3.connect(sys.argv[1], isolation_level=None)
            base.execute("BEGIN IMMEDIATE")
            open("held", "w").close()
            while not os.path.exists("enough"): time.sleep(0.02)
            base.execute("COMMIT")
            """
        let holder = try home.start(["python3", "-c", holding, file.string])
        try home.waitUntil("the file is held") { access(home.path("held").string, F_OK) == 0 }
        defer {
            try? home.write("", to: "enough")
            _ = try? holder.wait(limit: .seconds(20))
            for name in ["held", "enough"] { unlink(home.path(name).string) }
        }
        try body()
    }

    /// A program that reads, and then ends the rules by which that was noted, leaves its line.
    @Test func linesOutliveTheRules() throws {
        try withLine { home, file, log in
            log.use(AccessOptions())
            log.flush()
            try waitForRows(1, "read", of: file, in: home)
            log.close()
        }
    }

    /// Holds:
    /// - What is read while another program holds the access log's file locked is noted when it lets go.
    @Test(.slow) func linesWaitForTheFile() throws {
        try withLine { home, file, log in
            log.flush()
            try whileHeld(file, in: home) {
                note(["work/b", "work/c"], in: log)
                log.flush()
            }
            note(["work/d"], in: log)
            log.close()
            try waitForRows(4, "read", of: file, in: home)
            let lines = try AccessDatabase(file: file).lines()
            #expect(lines.map(\.secret) == ["work/a", "work/b", "work/c", "work/d"])
            #expect(try AccessDatabase(file: file).droppedLines().isEmpty)
        }
    }

    /// A command ends once its log is closed.
    @Test(.slow) func theEndWaitsForTheFile() throws {
        try withLine { home, file, log in
            log.flush()
            let isClosed = Monitor(false)
            try whileHeld(file, in: home) {
                note(["work/b"], in: log)
                try PosixThread.start(named: "closing") {
                    log.close()
                    isClosed.withLock { $0 = true }
                    isClosed.broadcast()
                }
                // Each returns when writing has failed once more.
                for _ in 0..<2 { log.flush() }
                #expect(!isClosed.withLock { $0 })
            }
            let end = MonotonicTime(secondsFromNow: 60)
            #expect(isClosed.waiting { $0 || $1 ? .done($0) : .wait(until: end) })
            #expect(try AccessDatabase(file: file).lines().map(\.secret) == ["work/a", "work/b"])
        }
    }

    /// What happens to the file while it is in use.
    @Test(
        arguments: sampled([
            "rm access.sqlite*", "rm access.sqlite*; echo garbage > access.sqlite", ": > access.sqlite",
            "python3 -c \"import sqlite3; sqlite3.connect('access.sqlite').executescript('DROP TABLE read')\"",
        ])) func anotherFileInItsPlaceIsBegun(_ deed: String) throws
    {
        try withLine { home, file, log in
            log.flush()
            try home.succeed(["sh", "-c", deed])
            note(["work/b"], in: log)
            log.flush()
            try waitForRows(1, "read WHERE secret = 'work/b'", of: file, in: home)
            note(["work/c"], in: log)
            log.close()
            try waitForRows(1, "read WHERE secret = 'work/c'", of: file, in: home)
            #expect(try AccessDatabase(file: file).lines().map(\.secret).suffix(2) == ["work/b", "work/c"])
        }
    }

    /// There is a bound to what waits: what is more goes from the program with the most lines, and is counted.
    @Test(.slow) func whatIsTooMuchIsCounted() throws {
        try TestHome.with { home in
            let file = home.path("access.sqlite")
            let log = AccessLog(file: file, mostWaiting: 20) { _, _ in }
            noting(log)
            note(["work/first"], in: log)
            log.flush()
            try whileHeld(file, in: home) {
                note((0..<3).map { "work/\($0)" }, in: log)
                for round in 0..<2 {
                    note((0..<15).map { "work/\(round).\($0)" }, "/bin/flood", in: log)
                    log.flush()
                }
                // More at once than there is room for.
                note((0..<30).map { "work/once.\($0)" }, "/bin/once", in: log)
                log.flush()
            }
            log.close()
            try waitForRows(1, "dropped", of: file, in: home)
            let database = try AccessDatabase(file: file)
            let counts = Dictionary(grouping: try database.lines(), by: \.program).mapValues(\.count)
            let dropped = Dictionary(
                uniqueKeysWithValues: try database.droppedLines().map { ($0.program, $0.count) })
            #expect(counts["/bin/cat"] == 4, "\(counts)")
            #expect((counts["/bin/flood"] ?? 0) > 3 && (counts["/bin/once"] ?? 0) > 3, "\(counts)")
            for (program, count) in [("/bin/flood", 30), ("/bin/once", 30)] {
                #expect((counts[program] ?? 0) + (dropped[program] ?? 0) == count, "\(counts) \(dropped)")
            }
            #expect(counts.values.reduce(0, +) <= 21 && dropped["/bin/cat"] == nil, "\(counts) \(dropped)")
        }
    }

    /// Nor is a file set aside as damaged that is only held.
    @Test func aFileThatIsHeldAtTheBeginningIsTheLog() throws {
        try TestHome.with { home in
            let file = home.path("access.sqlite")
            do {
                let reader = Reader(program: Program(path: "/bin/cat", fingerprint: ""))
                let line = AccessLine(
                    JudgedRead(reader, "work/a", Decision(outcome: .allow, rule: nil)), .allowed,
                    at: FileTime.now.seconds
                )
                try AccessDatabase(file: file).add([line], keeping: .seconds(3600))
            }
            // Whoever opens it writes to it, as a log of an older format.
            let older =
                "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode = DELETE')"
            try home.succeed(["python3", "-c", older, file.string])
            let log = AccessLog(file: file) { _, _ in }
            noting(log)
            try whileHeld(file, in: home) {
                note(["work/b"], in: log)
                log.flush()
            }
            log.close()
            try waitForRows(2, "read", of: file, in: home)
            #expect(access(file.string + ".damaged", F_OK) != 0)
            let lines = try AccessDatabase(file: file).lines()
            #expect(lines.map(\.secret) == ["work/a", "work/b"])
        }
    }
}
