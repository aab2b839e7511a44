import ArgumentParser
import Daemon
import Glibc
import Stores
import Sync
import Synchronization
import System

/// `passdir sync`: asks the daemon to bring stores and remotes together, and draws how far it is.
struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Commit, fetch, merge and push now.",
        discussion: """
            Returns when everything has succeeded or failed. Secrets changed on both sides are merged line by line. If both \
            changed the same lines, the remote's version keeps the name and yours becomes NAME.conflict-HOST-DATE. Secrets \
            that one machine saved before it heard of a change of recipients on another are named. The exit status is 1 if \
            there are such secrets, a conflict was created or something failed. Works without a mount.

            Example: passdir sync work && echo all is safe
            """
    )

    @Argument(
        help: "The stores to sync, by name or path; all by default.", completion: StoreContext.completion)
    var stores: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Take the remote's history if it was force-pushed or replaced.",
            discussion: "The store's own history is kept on a branch, which is named."))
    var theirs = false

    @Flag(
        help: ArgumentHelp(
            "Replace the remote's history with the store's if it was force-pushed, replaced, deleted or refused.",
            discussion: "The remote's history is kept here on a branch, which is named."))
    var ours = false

    @Flag(
        help: ArgumentHelp(
            "Print a JSON array of {name, error, chosen, conflicts, newConflicts, drift, unapproved}.",
            discussion: "Includes a note if there is no remote."))
    var json = false

    func validate() throws {
        if theirs, ours { throw ValidationError("'--theirs' and '--ours' cannot be used together") }
        if theirs || ours, stores.count != 1 {
            throw ValidationError("'--theirs' and '--ours' work on one store at a time: name it")
        }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        if stores.isEmpty, !json { try FirstStep.check([]) }
        let stores = try WholeStores.names(stores, "sync", environment: environment)
        let choice: HistoryChoice? = theirs ? .theirs : ours ? .ours : nil
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let progress = SyncProgress(client)
        let result = Result { () throws(ControlError) in
            try client.synchronize(stores, choosing: choice)
        }
        progress.end()
        let reports: [SyncReport]
        do throws(ControlError) {
            reports = try result.get()
        } catch {
            // What a daemon that was killed has left is for the next mount, which frees its place, too.
            guard error.code == .noDaemon, CommandFailure.stale(environment) == nil else { throw error }
            reports = try UnmountedStores(environment: environment).synchronize(stores, choosing: choice)
        }
        show(reports)
        let isAmiss = reports.contains {
            $0.error != nil || !$0.newConflicts.isEmpty || $0.drift?.isEmpty == false
        }
        if isAmiss { throw ExitCode.failure }
    }

    private func show(_ reports: [SyncReport]) {
        if json { Output.print(json: reports) }
        for report in reports {
            let drift = report.drift ?? []
            for sentence in report.chosen where !json { Output.notice("\(report.name): \(sentence)") }
            if let error = report.error {
                StandardError.print("passdir: \(report.name): \(error)")
            } else if !json {
                let rest = [
                    report.conflicts.isEmpty
                        ? nil : report.conflicts.count.counted("conflict") + " to settle",
                    drift.isEmpty ? nil : drift.count.counted("secret") + " to re-encrypt",
                ].compactMap(\.self).joined(separator: " and ")
                Output.notice(
                    "\(report.name): \(report.note ?? "in sync")" + (rest.isEmpty ? "" : ", with \(rest)"))
            }
            if !drift.isEmpty {
                StandardError.print(
                    "passdir: \(report.name): \(DriftList.sentence(drift, ofStore: report.name))")
            }
            if let lists = report.unapproved, !lists.isEmpty {
                StandardError.print(
                    "passdir: \(report.name): others have changed who may read (\(Flood.words(lists, most: 3))), and nothing is "
                        + "saved there until you approve that: passdir recipients confirm \(ShellWord.quoted(report.name))"
                )
            }
            guard let first = report.newConflicts.first else { continue }
            let more = report.newConflicts.count > 1 ? " and \(report.newConflicts.count - 1) more" : ""
            StandardError.print(
                "passdir: \(report.name): changed on two machines, so both versions are kept: \(first)\(more); "
                    + "passdir conflicts lists "
                    + "them, passdir conflicts settle keeps one version")
        }
    }
}

/// One line on a terminal's standard error that says what is going on; nothing where there is no terminal.
final class SyncProgress: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let isShown: Bool

    init(_ client: ControlClient) {
        isShown = isatty(STDERR_FILENO) == 1
        guard isShown else { return }
        // Without a thread there is no line.
        try? PosixThread.start(named: "progress") { [self] in
            while !isOver.load(ordering: .relaxed) {
                PosixThread.sleep(for: .milliseconds(200))
                guard !isOver.load(ordering: .relaxed), let report = try? client.status(limit: .seconds(2))
                else {
                    continue
                }
                let texts = report.stores.compactMap { store in store.activity.map { "\(store.name): \($0)" }
                }
                StandardError.redraw(texts.joined(separator: "  "))
            }
        }
    }

    func end() {
        isOver.store(true, ordering: .relaxed)
        if isShown { StandardError.clearLine() }
    }
}
