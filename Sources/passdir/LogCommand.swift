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
            One line a commit: its id, the date, who made the change, its message. With --ages one line a secret: \
            when it was last changed and by whom, the oldest first.
            """
    )

    @Argument(help: "A store or STORE/PATH, or a path in the mount; all stores when none is named.")
    var path: String?

    @Flag(help: "Show when each secret was changed last, the oldest first.")
    var ages = false

    @Option(name: .shortAndLong, help: "How many commits to show at most.")
    var number: Int = 100

    func validate() throws {
        guard number > 0 else { throw ValidationError("The number of commits must be more than 0.") }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let places =
            try path.map { [try StoreAccess.open($0, for: .reading, environment: environment)] }
            ?? StoreAccess.all(environment: environment)
        guard places.count > 1 else { return try places.forEach(show) }
        var isWhole = true
        for place in places {
            Output.print(place.store.name + ":")
            do {
                try show(place)
            } catch let error as any SentenceError {
                // One store says nothing of the others.
                StandardError.print("passdir: \(error)")
                isWhole = false
            }
        }
        if !isWhole { throw ExitCode.failure }
    }

    private func show(_ access: StoreAccess) throws {
        let history = try StoreHistory(access.store)
        let place = access.backingPath
        if ages {
            let ages = try history.ages(below: place)
            if ages.isEmpty, !place.isEmpty, (try? access.store.root.status(of: place)) == nil {
                throw CommandFailure(access.store.name, hasNo: access.path.string)
            }
            for age in ages.sorted(by: { $0.time < $1.time }) {
                Output.print(
                    Self.line(age.commit, age.time, age.author, access.store.visiblePath(of: age.path).string)
                )
            }
            return
        }
        var entries = try history.entries(of: place, limit: number)
        // A folder that is gone, which nothing tells from a secret that is.
        if entries.isEmpty { entries = try history.entries(of: access.path, limit: number) }
        if entries.isEmpty { throw CommandFailure("no commit has changed \(path ?? access.store.name)") }
        Output.print(lines: entries.map { Self.line($0.commit, $0.time, $0.author, $0.subject) })
    }

    private static func line(_ commit: String, _ time: Int64, _ author: String, _ text: String) -> String {
        // Others write the subject, and a line of it may be as long as they like.
        "\(commit.prefix(10))  \(Timestamp(seconds: time))  \(author)  \(VisibleText.cut(text, atMost: 500))"
    }
}
