import Daemon
import Testing

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (1_700_000_000, "2023-11-14T22:13:20Z"),
        (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
    ])
    func readsWhatItWrites(_ seconds: Int64, _ text: String) {
        #expect(Timestamp(seconds: seconds).description == text)
        #expect(Timestamp(text) == Timestamp(seconds: seconds))
    }

    /// A commit claims any time it likes; a report with it must still be written, and read.
    @Test(arguments: [
        (253_402_300_800, "9999-12-31T23:59:59Z"), (67_768_036_191_676_799, "9999-12-31T23:59:59Z"),
        (.max, "9999-12-31T23:59:59Z"), (-62_167_219_201, "0000-01-01T00:00:00Z"),
        (.min, "0000-01-01T00:00:00Z"),
    ])
    func staysWithinYearsOfFourDigits(_ seconds: Int64, _ text: String) {
        #expect(Timestamp(seconds: seconds).description == text)
        #expect(Timestamp(text)?.description == text)
    }

    @Test(arguments: [
        "", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14 22:13:20Z", "2023-02-30T00:00:00Z",
        "2023-13-01T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:60Z", "+023-11-14T22:13:20Z",
        "2023-11-14T22:13:20z", "２023-11-14T22:13:Z",
    ])
    func refusesAnythingElse(_ text: String) {
        #expect(Timestamp(text) == nil)
    }
}
