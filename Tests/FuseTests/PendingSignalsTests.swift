import Testing

@testable import Fuse

/// What the signals that a caller has not taken yet say, read from proc_pid_status(5).
@Suite struct PendingSignalsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var thread: UInt64 = 0
        var process: UInt64 = 0
        var blocked: UInt64 = 0
        var ignored: UInt64 = 0
        var caught: UInt64 = 0
        var meaning: PendingSignals
    }

    private static func bits(_ signals: UInt64...) -> UInt64 { signals.reduce(0) { $0 | 1 << ($1 - 1) } }

    @Test(arguments: [
        Row(testDescription: "nothing", caught: bits(2), meaning: .none),
        Row(testDescription: "SIGKILL", thread: bits(9), blocked: ~0, meaning: .fatal),
        Row(testDescription: "SIGINT by default", process: bits(2), meaning: .fatal),
        Row(
            testDescription: "SIGQUIT beside a timer", process: bits(3, 14), caught: bits(14), meaning: .fatal
        ),
        Row(testDescription: "SIGINT with a handler", process: bits(2), caught: bits(2), meaning: .handled),
        Row(testDescription: "SIGINT for this thread", thread: bits(2), caught: bits(2), meaning: .handled),
        Row(testDescription: "a blocked SIGINT", process: bits(2), blocked: bits(2), meaning: .none),
        Row(testDescription: "an ignored SIGINT", process: bits(2), ignored: bits(2), meaning: .none),
        Row(testDescription: "SIGTSTP by default", process: bits(20), meaning: .handled),
        Row(testDescription: "SIGCHLD by default", process: bits(17), meaning: .none),
        Row(
            testDescription: "SIGWINCH with a handler", process: bits(28), caught: bits(28),
            meaning: .incidental),
        Row(testDescription: "SIGPROF by default", process: bits(27), meaning: .fatal),
        Row(
            testDescription: "SIGPROF with a handler", thread: bits(27), caught: bits(27),
            meaning: .incidental),
        Row(
            testDescription: "SIGCHLD beside Ctrl-C", process: bits(17, 2), caught: bits(17, 2),
            meaning: .handled),
        Row(testDescription: "a real-time signal", thread: bits(64), caught: bits(64), meaning: .handled),
    ])
    func whatTheyMean(_ row: Row) {
        func line(_ name: String, _ mask: UInt64) -> String {
            let digits = String(mask, radix: 16)
            return "\(name):\t\(String(repeating: "0", count: 16 - digits.count))\(digits)\n"
        }
        let status =
            "Name:\tSigPnd:\t0000000000000100\nState:\tS (sleeping)\nSigQ:\t2/7796\n"
            + line("SigPnd", row.thread)
            + line("ShdPnd", row.process) + line("SigBlk", row.blocked) + line("SigIgn", row.ignored)
            + line("SigCgt", row.caught) + "CapInh:\t0000000000000000\n"
        #expect(PendingSignals(status: status) == row.meaning)
    }

    @Test func whatCannotBeRead() {
        #expect(PendingSignals(status: "") == .unknown)
        #expect(PendingSignals(ofThread: 0) == .unknown)
        #expect(PendingSignals(ofThread: .max) == .unknown)
    }

    @Test func aThreadOfOurs() { #expect(PendingSignals(ofThread: 1) != .unknown) }
}
