import Access
import ArgumentParser
import Daemon
import Glibc
import Settings
import Stores
import System
import SystemPackage

/// `passdir access log`: who read what.
struct AccessLogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show which programs have read, or were refused, which secrets.",
        discussion: """
            One line per read: when, what became of it, the secret, the program, the first two words of its command, what \
            started it, its terminal or unit, and the rule. Like reads within a minute are one line with a count. The log is \
            kept while there are rules, or always with access.log = true; it never contains a secret's content.

            Examples:
              passdir access log work/aws --since 2h
              passdir access log --program python3 --json | jq -r .secret
              passdir access log --follow
            """
    )

    @Argument(
        help: "STORE, STORE/FOLDER or STORE/SECRET, or a path in the mount; everything by default.",
        completion: PlaceCompletion.places)
    var path: String?

    @Option(help: "Only this program: a path, or the last part of it.", completion: .file())
    var program: String?

    @OptionGroup var since: SinceOption

    @Flag(help: "Show reads as they happen, until Ctrl-C.")
    var follow = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// How often the file is looked into.
    private static let interval = Duration.milliseconds(200)

    private struct Line: Encodable {
        var first: Timestamp
        var last: Timestamp
        var count: Int
        var outcome: AccessOutcome
        var secret: String
        var program: String
        var isProgramCertain: Bool
        var process: Int32
        var words: [String]
        var startedBy: [String]
        var terminal: String?
        var unit: String?
        var rule: String?
    }

    func run() throws {
        try program.map(ProgramArgument.checkIsNamed)
        let environment = CallerEnvironment.variables()
        let file = Daemon.accessLog(environment: environment)
        let options = try AccessOptions(
            Configuration(file: Configuration.defaultPath(environment: environment)))
        // What is older goes with the next line that is written, which may be long from now.
        let oldest = FileTime.now.seconds - Int64(options.keep / .seconds(1))
        var search = AccessDatabase.Search(
            place: try path.map { try AccessPlace.named($0, environment: environment) }, program: program,
            programFile: program.flatMap(ProgramArgument.file), since: try max(since.moment() ?? 0, oldest))
        // So that what was read just now is in it.
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        _ = try? client.access()
        if !follow, !file.exists {
            if !json { Output.notice("nothing has been logged") }
            return
        }
        let database = try AccessDatabase(file: file)
        var shown = ShownLines()
        if follow {
            if !options.isLogging {
                StandardError.warn(
                    options.log == false
                        ? "nothing is logged, as access.log is false"
                        : "nothing is logged, as there are no rules and access.log is not true")
            }
            if since.since == nil {
                let lines = try database.lines()
                search.after = lines.last?.revision
                shown = ShownLines(lines)
            }
        }
        if !follow { try Self.tell(database.droppedLines(), search) }
        guard follow else {
            let lines = try database.lines(search)
            if lines.isEmpty, !json { Output.notice("nothing like that has been logged") }
            return lines.forEach(show)
        }
        while true {
            for line in try database.lines(search) {
                search.after = line.revision
                show(shown.new(of: line))
            }
            PosixThread.sleep(for: Self.interval)
        }
    }

    private func show(_ line: AccessLine) {
        if json { Output.print(json: Self.report(line)) } else { Output.print(Self.text(line)) }
    }

    /// How often each line was shown that may still be counted on.
    private struct ShownLines {
        private var counts: [AccessLine: Int] = [:]

        /// - Parameter lines: those that need not be shown.
        init(_ lines: [AccessLine] = []) {
            for line in lines { counts[Self.key(of: line)] = line.count }
        }

        private static func key(of line: AccessLine) -> AccessLine {
            var key = line
            (key.revision, key.last, key.count) = (0, 0, 0)
            return key
        }

        /// A line with the reads that were not shown yet.
        mutating func new(of line: AccessLine) -> AccessLine {
            // Like reads within a minute are one line.
            counts = counts.filter { $0.key.first > line.last - 120 }
            let key = Self.key(of: line)
            var new = line
            new.count = max(1, line.count - (counts[key] ?? 0))
            counts[key] = line.count
            return new
        }
    }

    /// That something is missing is said also to programs.
    private static func tell(_ dropped: [DroppedLines], _ search: AccessDatabase.Search) {
        for one in dropped where one.last >= search.since ?? 0 && search.isAbout(one.program) {
            let time = Timestamp(seconds: one.last).local
            StandardError.print(
                "passdir: \(one.count) older line\(one.count == 1 ? "" : "s") of \(one.program), until \(time), "
                    + "are gone: it had more than the log has room for")
        }
    }

    private static func report(_ line: AccessLine) -> Line {
        Line(
            first: Timestamp(seconds: line.first), last: Timestamp(seconds: line.last), count: line.count,
            outcome: line.outcome, secret: line.secret, program: line.program,
            isProgramCertain: line.isProgramCertain, process: line.process, words: line.words,
            startedBy: line.startedBy, terminal: line.terminal, unit: line.unit, rule: line.rule)
    }

    private static func text(_ line: AccessLine) -> String {
        var parts = [
            "\(Timestamp(seconds: line.last).local)", line.outcome.rawValue, line.secret,
            line.program + (line.isProgramCertain ? "" : " (uncertain)"),
        ]
        if line.count > 1 { parts[1] += " \(line.count)x" }
        if !line.words.isEmpty { parts.append("(\(line.words.joined(separator: " ")))") }
        // A shell that runs a script in a shell is told of once.
        let starters = line.startedBy.enumerated().filter { $0 == 0 || line.startedBy[$0 - 1] != $1 }.map(
            \.element)
        if !starters.isEmpty { parts.append("by \(starters.joined(separator: " by "))") }
        parts.append(line.terminal ?? line.unit ?? "no terminal")
        parts.append(line.rule.map { "rule \($0)" } ?? "no rule")
        return parts.joined(separator: "  ")
    }
}
