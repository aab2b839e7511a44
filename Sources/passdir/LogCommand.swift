import ArgumentParser
import Daemon
import Glibc
import Stores
import Sync
import System
import SystemPackage

/// `passdir log`: what git knows of a store or secret.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show the history of a store, a folder or a secret.",
        discussion: """
            Prints one line per commit: its id, date, author and message. For a commit of several secrets, it says what \
            happened to the one you asked for. With --ages it prints one line per secret: when its content last changed and \
            who changed it, oldest first. Renaming a secret, changing its recipients, or restoring what was \
            removed does not count as a change.

            Examples:
              passdir log work/mail/imap
              passdir log work --since yesterday
              passdir log --ages work | head
            """
    )

    @Argument(
        help: "A store, STORE/PATH, PATH in any store, or a path in the mount; all stores by default.",
        completion: PlaceCompletion.anyPlaces)
    var path: String?

    @Flag(help: "Show when each secret last changed, oldest first.")
    var ages = false

    @OptionGroup var since: SinceOption

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: "The maximum number of lines to show. (default: 100, with --ages all)"
    )
    var number: Int?

    @Flag(
        help: "Print a JSON array of {store, path, commit, time, author, subject}; subject not with --ages.")
    var json = false

    /// A commit, or the last change of a secret, as `--json` tells of it.
    private struct Line: Encodable {
        let store: String
        var path: String?
        let commit: String
        let time: Timestamp
        let author: String
        var subject: String?
        /// The secrets that a commit changed, as they are shown; for people, whom a message of others tells little.
        var changed: [String] = []

        private enum CodingKeys: CodingKey { case store, path, commit, time, author, subject }
    }

    func validate() throws {
        guard number.map({ $0 > 0 }) ?? true else {
            throw ValidationError("the number of commits must be greater than 0")
        }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let moment = try since.moment()
        let (places, complaints): ([StoreAccess], [String]) =
            if let path {
                ([try SecretSearch(environment: environment).past(path, for: .reading)], [])
            } else {
                try StoreAccess.all(environment: environment)
            }
        let areMany = places.count + complaints.count > 1
        for complaint in complaints { StandardError.print("passdir: \(complaint)") }
        var lines: [Line] = []
        var isWhole = complaints.isEmpty
        for place in places {
            do {
                var isFirst = true
                try visitLines(of: place, since: moment) { line in
                    if json { return lines.append(line) }
                    if isFirst, areMany { Output.print(place.store.name + ":") }
                    isFirst = false
                    Output.print(Self.text(line))
                }
            } catch let error as StoreHistory.Failure where areMany && error.hasNoRepository {
                StandardError.print("passdir: \(error)")
            } catch let error as any SentenceError where areMany {
                // One store says nothing of the others.
                StandardError.print("passdir: \(error)")
                isWhole = false
            }
        }
        if json { Output.print(json: lines) }
        if !isWhole { throw ExitCode.failure }
    }

    /// Hands each line to `body` as soon as it is known: a long history takes long to read.
    private func visitLines(
        of access: StoreAccess, since moment: Int64?, _ body: (Line) -> Void
    ) throws {
        let history = try StoreHistory(access.store)
        let (store, place) = (access.store.name, access.backingPath)
        if ages {
            let ages = try history.ages(below: place)
            if ages.isEmpty, !place.isEmpty, (try? access.store.root.status(of: place)) == nil {
                throw CommandFailure(store, hasNo: access.path.string)
            }
            let wanted = ages.filter { $0.time >= moment ?? .min }
            for age in wanted.sorted(by: { $0.time < $1.time }).prefix(number ?? .max) {
                body(
                    Line(
                        store: store, path: access.store.visiblePath(of: age.path).string, commit: age.commit,
                        time: Timestamp(seconds: age.time), author: age.author))
            }
            return
        }
        var isEmpty = true
        // The second is a folder that is gone, which nothing tells from a secret that is.
        for place in [place, access.path] where isEmpty {
            try history.visitEntries(of: place, since: moment, limit: number ?? 100) { entry in
                isEmpty = false
                body(
                    Line(
                        store: store, path: entry.path.map { access.store.visiblePath(of: $0).string },
                        commit: entry.commit, time: Timestamp(seconds: entry.time), author: entry.author,
                        subject: entry.subject,
                        changed: json ? [] : entry.changed.map { access.store.visiblePath(of: $0).string }))
            }
        }
        guard isEmpty else { return }
        // With a time, it is no failure that nothing happened since then, unless nothing ever did.
        let hasPast = try [place, access.path].contains { path in
            try moment != nil && !history.entries(of: path, limit: 1).isEmpty
        }
        guard hasPast, let since = since.since else {
            throw CommandFailure("no commit has changed \(path ?? store)")
        }
        if !json { Output.success("no commit has changed \(path ?? store) since \(since)") }
    }

    private static func text(_ line: Line) -> String {
        // Others write the subject, and a line of it may be as long as they like.
        let text = VisibleText.cut(line.subject ?? line.path ?? "", atMost: 500)
        let isNamed = line.changed.allSatisfy { text.contains($0) }
        let changed = isNamed ? "" : " (\(Flood.words(line.changed)))"
        return "\(line.commit.prefix(10))  \(line.time.local)  \(line.author)  \(text)\(changed)"
    }
}
