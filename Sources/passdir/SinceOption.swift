import ArgumentParser
import Daemon

/// From when on something is told of.
struct SinceOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only what happened since this time: 2h, 30m (ago), 10:30 (the last one), yesterday, 2026-11-24, \"2026-11-24 21:09\".",
            valueName: "when"), completion: .list(["today", "yesterday"]))
    var since: String?

    /// The moment, in seconds since 1970; nil where none was named.
    /// - Throws: `WrongUsage`.
    func moment() throws -> Int64? {
        guard let since else { return nil }
        guard let moment = Timestamp(typed: since, asBeginning: true) else {
            throw WrongUsage(message: "--since needs a time, such as 2h or 2026-11-24, not \(since)")
        }
        return moment.seconds
    }
}
