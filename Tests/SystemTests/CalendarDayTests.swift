import System
import Testing

/// An expiry is kept in a file that may hold any number.
@Suite struct CalendarDayTests {
    @Test(arguments: [Int64.min, .min + 1, -1, 0, .max - 86_399, .max])
    func anyMomentHasADay(_ seconds: Int64) {
        let day = CalendarDay(containing: seconds)
        #expect(day.start % 86_400 == 0)
        #expect(day.end - day.start == 86_400)
        #expect(!day.description.isEmpty)
    }
}
