import Daemon
import Testing

/// Days and times as people type them.
@Suite struct TypedTimeTests {
    private func local(_ text: String, asBeginning: Bool = false) -> String? {
        Timestamp(typed: text, asBeginning: asBeginning)?.local
    }

    @Test func aTimeOfDayIsTheLastOne() throws {
        let now = Timestamp.now()
        let day = now.local.prefix(10)
        for text in ["00:00", "00:00:00"] {
            #expect(local(text)?.hasSuffix(" 00:00") == true, "\(text)")
            // Midnight may have come meanwhile.
            #expect(local(text)?.hasPrefix(day) == true || Timestamp.now().local.prefix(10) != day)
        }
        for text in ["23:59", "12:00", "10:30"] {
            let moment = try #require(Timestamp(typed: text, asBeginning: true))
            #expect(moment.local.hasSuffix(" " + text))
            #expect(moment.seconds <= Timestamp.now().seconds && moment.seconds > now.seconds - 90_000)
        }
    }

    @Test func todayAndYesterdayMayHaveATime() throws {
        let yesterday = try #require(local("yesterday")?.prefix(10))
        #expect(local("yesterday 10:30") == "\(yesterday) 10:30")
        #expect(local("yesterday") == "\(yesterday) 23:59")
        #expect(local("yesterday", asBeginning: true) == "\(yesterday) 00:00")
        #expect(local("today 10:30")?.hasSuffix(" 10:30") == true)
        #expect(local("2026-11-24", asBeginning: true) == "2026-11-24 00:00")
        #expect(local("2026-11-24") == "2026-11-24 23:59")
        #expect(local("2026-11-24T21:09") == "2026-11-24 21:09")
    }

    /// Durations as settings have them are that long ago, with and without the word; what may begin the id of a commit is none.
    @Test(arguments: [
        ("2h", 7200), ("2 h", 7200), ("2h ago", 7200), ("2 hours ago", 7200), ("30s", 30), ("30 s ago", 30),
        ("0.5 h", 1800),
        ("500ms", 0), ("10min", 600), ("10 m ago", 600), ("3 minutes", 180), ("2.hours.ago", 7200),
        ("an hour ago", 3600),
        ("now", 0),
    ])
    func aDurationIsHowLongAgo(_ text: String, _ seconds: Int64) throws {
        let before = Timestamp.now()
        for asBeginning in [false, true] {
            let moment = try #require(Timestamp(typed: text, asBeginning: asBeginning), "\(text)")
            #expect((before.seconds...Timestamp.now().seconds).contains(moment.seconds + seconds), "\(text)")
        }
    }

    @Test func aDayAgoIsTheSameTimeOfDay() throws {
        for text in ["2d", "2 d", "2 days ago", "2 days"] {
            let moment = try #require(Timestamp(typed: text))
            #expect(abs(Timestamp.now().seconds - moment.seconds - 172_800) <= 3700, "\(text)")
        }
        #expect(local("1w") != nil && local("last month") != nil && local("6 y ago") != nil)
    }

    @Test(arguments: [
        "2026", "1234d", "123d", "h", "ago", "2 ago", "-2h", "1e3s", "2 fortnights ago", ".", ".ago", "2hh",
        "1000000 h", "nan h",
        "", "24:00", "10:60", "1:30", "10:30 yesterday", "yesterday 10", "yesterday yesterday", "10:30 10:30",
        "2026-02-30", "2026-11-24 ", "2026-11-24 10:30 11:30", "Today 25:00",
    ])
    func refusesAnythingElse(_ text: String) {
        #expect(Timestamp(typed: text) == nil)
    }
}
