import ArgumentParser
import Daemon
import Glibc
import Stores
import Sync
import System
import SystemPackage

/// `passdir restore`: an older content of a secret, a folder or a store, as a new change.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore an earlier version of a secret, a folder or a store.",
        discussion: """
            Without --at, it lists the versions on the terminal and lets you choose one. The content is encrypted to the \
            current recipients and committed as a new change; history is not rewritten, and nothing is committed if \
            nothing differs. Removed secrets come back; secrets added to a folder since then stay. Of a store, its secrets are \
            restored, and not its lists of recipients. The current content is \
            committed first. If the secret is saved at the same moment, that version is kept as a conflict file.

            What --at says is a day or time where it can be one, else the beginning of a commit's id (7 digits and more), \
            else a tag or branch, else fewer digits of an id; refs/tags/NAME always means a tag.

            Examples:
              passdir restore work/mail/imap                  # lists the versions and asks
              passdir restore work/mail/imap --at 2026-11-24 --show
              passdir restore work/mail --at HEAD~2
              passdir restore work --at yesterday
            """
    )

    @Argument(
        help: "The secret, folder or store: STORE/PATH, PATH in any store, or a path in the mount.",
        completion: PlaceCompletion.anyPlaces)
    var path: String

    @Option(
        help: ArgumentHelp(
            "Which version: the last one of a day or minute (2026-11-24, \"2026-11-24 21:09\", yesterday, "
                + "\"yesterday 10:30\"; 10:30, which is yesterday's until it is that late today), how long ago (2h, "
                + "\"2 weeks ago\"), a commit from 'passdir log', HEAD~3.",
            valueName: "when"), completion: PlaceCompletion.commits)
    var at: String?

    @Flag(help: "Write the content to standard output, byte for byte; change nothing.")
    var show = false

    func run() throws {
        let access = try SecretSearch(environment: CallerEnvironment.variables())
            .past(path, for: show ? .reading : .writing)
        let history = try StoreHistory(access.store, for: show ? .reading : .restoring)
        let point = try at.map(Self.point) ?? choose(history, access)
        let version = try history.version(of: access.path, secret: access.backingPath, at: point)
        if show { return try show(version, history, access) }
        try put(version, history, access)
    }

    /// What is typed after `--at`.
    static func point(_ typed: String) throws(CommandFailure) -> HistoryPoint {
        let point = HistoryPoint(typed: typed)
        // No commit is named like a time of day, and what git calls such a word helps nobody.
        let parts = typed.split(separator: ":", omittingEmptySubsequences: false)
        let isLikeTime =
            parts.count == 2 && parts.allSatisfy { (1...2).contains($0.utf8.count) && UInt8($0) != nil }
        if case .named = point, isLikeTime {
            throw CommandFailure("\(typed) is not a time of day: write 00:00 to 23:59")
        }
        return point
    }

    private func show(
        _ version: StoreHistory.Version, _ history: StoreHistory, _ access: StoreAccess
    ) throws {
        guard !version.isFolder, let file = version.files.first else {
            throw CommandFailure(
                "\(path) \(access.path.isEmpty ? "is a store" : "was a folder"): name a secret in it to see its content"
            )
        }
        let environment = CallerEnvironment.variables()
        Output.write(
            secret: try LockedStore.during(reading: [access.store.name], environment: environment) {
                cancellation in
                try CommandRead.judged(
                    version, history, of: access, cancellation: cancellation, environment: environment
                ) { try history.plaintext(of: file, cancellation: cancellation) }
            })
    }

    private func put(
        _ version: StoreHistory.Version, _ history: StoreHistory, _ access: StoreAccess
    ) throws {
        var wanted: [(path: FilePath, text: SecretBytes)] = []
        var failed = 0
        let environment = CallerEnvironment.variables()
        // What is there now is read, too, to be compared.
        try LockedStore.during(reading: [access.store.name], environment: environment) { cancellation in
            try CommandRead.judged(
                version, history, of: access, onlyRenamed: true, cancellation: cancellation,
                environment: environment
            ) {
                for file in version.files {
                    do throws(StoreHistory.Failure) {
                        let text = try history.plaintext(of: file, cancellation: cancellation)
                        if !history.isPresent(file, text, cancellation: cancellation) {
                            wanted.append((file.path, text))
                        }
                    } catch {
                        try pass(over: error, in: version, &failed)
                    }
                }
            }
        }
        let then = "\(version.commit.prefix(10)) (\(Timestamp(seconds: version.time).local))"
        for other in version.others {
            StandardError.print(
                "passdir: left unchanged, as only secrets are restored: \(access.store.name)/\(other)")
        }
        guard !wanted.isEmpty else {
            if failed > 0 { throw ExitCode.failure }
            return Output.success("\(path) is already as it was at \(then)")
        }
        // Whatever lies there now must be in the history before it gives way.
        try access.commit(wanted.map { .saved($0.path) }, pushing: false)
        var changes: [Change] = []
        var restored: Set<FilePath> = []
        for (secret, text) in wanted {
            do throws(StoreHistory.Failure) {
                changes += try history.put(text, at: secret)
                restored.insert(secret)
            } catch {
                try pass(over: error, in: version, &failed)
            }
        }
        for case .saved(let other) in changes where !restored.contains(other) {
            StandardError.print(
                "passdir: the version saved in the meantime is kept as \(access.store.name)/"
                    + access.store.visiblePath(of: other).string)
        }
        if !changes.isEmpty {
            let place = access.path.isEmpty ? FilePath(access.store.name) : access.path
            let name = version.isFolder ? place : version.files[0].path.withoutSuffix
            let day = Timestamp(seconds: version.time).local.prefix(10)
            try access.commit(
                changes.compactMap { if case .saved(let file) = $0 { file } else { nil } },
                message: StoreHistory.restoreMessage(name, asOf: day, version))
        }
        let what =
            version.isFolder
            ? "\(path): \(restored.count) of \(version.files.count.counted("secret"))" : "\(path) is"
        Output.success("\(what) restored to \(then)")
        if failed > 0 { throw ExitCode.failure }
    }

    /// One secret that cannot be restored does not keep a folder's others from it.
    private func pass(
        over failure: StoreHistory.Failure, in version: StoreHistory.Version, _ failed: inout Int
    ) throws(StoreHistory.Failure) {
        guard version.isFolder else { throw failure }
        StandardError.print("passdir: \(failure)")
        failed += 1
    }

    /// Lists what there is, the newest first, and asks.
    private func choose(_ history: StoreHistory, _ access: StoreAccess) throws -> HistoryPoint {
        guard Terminal.isThere else {
            throw CommandFailure(
                "choose a version with --at: a day, HEAD~N or a commit; passdir log \(ShellWord.quoted(path)) "
                    + "lists them"
            )
        }
        var entries = try history.entries(of: access.backingPath, limit: 50).filter { $0.path != nil }
        if entries.isEmpty { entries = try history.entries(of: access.path, limit: 50) }
        guard !entries.isEmpty else {
            throw CommandFailure("no commit has changed \(access.store.name)/\(access.path)")
        }
        for (number, entry) in entries.enumerated() {
            StandardError.print(
                "\(number + 1)  \(entry.commit.prefix(10))  \(Timestamp(seconds: entry.time).local)  "
                    + "\(entry.author)  \(entry.subject)"
            )
        }
        guard let answer = Terminal.line("Which one? [1-\(entries.count)] "), !answer.isEmpty else {
            throw CommandFailure("nothing was changed")
        }
        guard let number = Int(answer), entries.indices.contains(number - 1) else {
            throw CommandFailure("there is no version \"\(answer)\" in this list; nothing was changed")
        }
        return .named(entries[number - 1].commit)
    }
}
