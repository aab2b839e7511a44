import Contents
import System
import Testing

/// What the fields `expires:` and `rotate:` say, and which first lines are passwords.
@Suite struct DeadlineTests {
    private func deadlines(_ text: String) -> Deadlines {
        text.withBytes { Deadlines(SecretText($0), in: $0) }
    }

    private func start(_ day: String) throws -> Int64 { try #require(CalendarDay(day)).start }

    @Test(arguments: [
        ("90d", "2026-01-31", "2026-05-01"), ("2W", "2026-01-31", "2026-02-14"),
        ("1m", "2026-01-31", "2026-02-28"),
        ("6 m", "2025-08-31", "2026-02-28"), (" 1y ", "2024-02-29", "2025-02-28"),
        ("12m", "2025-12-01", "2026-12-01"),
        ("4y", "2024-02-29", "2028-02-29"),
    ])
    func periodsAreThoseOfTheCalendar(_ period: String, _ from: String, _ to: String) throws {
        let read = try #require(RotationPeriod(period))
        #expect(read.end(from: try start(from) + 3600) == (try start(to) + 3600))
        #expect(RotationPeriod(read.description) == read)
    }

    @Test(arguments: ["", "d", "0d", "-1d", "10000d", "90", "1.5y", "90dd", "x", "9d0", "１d"])
    func otherPeriodsAreNone(_ text: String) { #expect(RotationPeriod(text) == nil) }

    @Test func aDayServesToItsEnd() throws {
        let deadlines = deadlines("pw\nExpires: 2026-05-31\n")
        #expect(!deadlines.isUnclear)
        #expect(!deadlines.isExpired(at: try start("2026-05-31") + 86_399))
        #expect(deadlines.isExpired(at: try start("2026-06-01")))
        #expect(!self.deadlines("pw\n").isExpired(at: .max))
    }

    @Test func aPeriodBeginsWithTheChange() throws {
        let deadlines = deadlines("pw\nrotate: 90d\nuser: me\n")
        let changed = try start("2026-01-01")
        #expect(deadlines.due(changed: changed) == changed + 90 * 86_400)
        let year = try #require(RotationPeriod("1y"))
        #expect(deadlines.otherwise(rotating: year) == deadlines)
        #expect(self.deadlines("pw\n").due(changed: changed) == nil)
        let due = self.deadlines("pw\n").otherwise(rotating: year).due(changed: changed)
        #expect(due == (try start("2027-01-01")))
    }

    @Test(arguments: [
        ("pw\nexpires: 2026-02-30\n", true), ("pw\nexpires: soon\n", true), ("pw\nrotate: often\n", true),
        ("pw\nexpires:\nrotate: \n", false), ("pw\nexpires: 2026-02-28\n", false), ("pw\n", false),
        ("", false),
    ])
    func whatCannotBeReadIsSaid(_ text: String, _ isUnclear: Bool) {
        #expect(deadlines(text).isUnclear == isUnclear)
    }

    @Test(arguments: [
        ("pw\nuser: me\n", "pw"), ("pw", "pw"), ("", nil), ("\ntext\n", nil),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n", nil),
        ("otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ\n", nil),
        ("pw\notpauth://totp/x?secret=GEZDGNBVGY3TQOJQ\n", "pw"),
    ])
    func onlyPasswordsAreJudged(_ text: String, _ password: String?) {
        let range = text.withBytes { SecretText($0).password(in: $0) }
        #expect(range.map { text[$0] } == password)
    }

    @Test func marksTellTheSamePasswords() throws {
        let marks = try PasswordMarks()
        func mark(_ text: String) throws -> PasswordMarks.Mark {
            try text.withBytes { try marks.mark(of: $0) }
        }
        #expect(try mark("one") == mark("one"))
        #expect(try mark("one") != mark("One"))
        // Of another run: nothing is to be learned from what is kept.
        let others = try PasswordMarks()
        #expect(try "one".withBytes { try others.mark(of: $0) } != mark("one"))
    }
}
