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

    @Test(arguments: [
        "", "24:00", "10:60", "1:30", "10:30 yesterday", "yesterday 10", "yesterday yesterday", "10:30 10:30",
        "2026-02-30", "2026-11-24 ", "2026-11-24 10:30 11:30", "Today 25:00",
    ])
    func refusesAnythingElse(_ text: String) {
        #expect(Timestamp(typed: text) == nil)
    }
}
