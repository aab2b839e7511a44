import ArgumentParser
import Daemon
import OpenPGP
import Stores
import System
import SystemPackage

/// `passdir recipients check`.
struct RecipientsCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Find secrets not encrypted to exactly their recipients, and keys about to expire.",
        discussion: """
            This reads only the secrets' packets; it needs no key and decrypts nothing. With --fix it shows which secrets it \
            would encrypt again and to whom, and asks first. The exit status is 1 if a problem remains: with a secret, a \
            .gpg-id, or a key that is unusable or expires within --days.

            Example: passdir recipients check work --days 60
            """)

    @Argument(
        help: "STORE, STORE/FOLDER, or a path under the mount.", completion: PlaceCompletion.folders)
    var path: String

    @Flag(help: "Encrypt secrets that differ to the recipients in their .gpg-id.")
    var fix = false

    @Option(help: "List keys that expire within this many days.")
    var days = 30

    @Flag(help: "With --fix, leave secrets unchanged if none of your keys decrypts them.")
    var skipUnreadable = false

    @Flag(
        name: [.short, .long], help: "With --fix, do not ask; approve no key that someone else added.")
    var yes = false

    @Flag(help: "Print one JSON object: {\"total\", \"drift\", \"problems\", \"keys\"}.")
    var json = false

    func run() throws {
        let isClean: Bool
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let report = try sharing.check(path, days: days, for: fix ? .writing : .reading)
        UnsavedLists.tell(sharing, at: path)
        if json { Output.print(json: report) } else { tell(report) }
        let isMended = fix && !report.drift.isEmpty ? try mend(sharing) : report.drift.isEmpty
        isClean = isMended && report.problems.isEmpty && report.keys.isEmpty
        if !isClean { throw ExitCode.failure }
    }

    private func mend(_ sharing: Sharing) throws -> Bool {
        let planned = try sharing.planFix(path)
        for group in planned.groups {
            tell("to be re-encrypted for " + group.readers.map(\.key.title).joined(separator: ", ") + ":")
            for secret in group.secrets { tell("  " + secret.secret.withoutSuffix.string) }
        }
        for key in planned.foreign {
            StandardError.print("! \(key.key.title) was added by someone else, and you have not approved it")
        }
        var accepted: Set<Fingerprint> = []
        if !planned.secrets.isEmpty,
            try Confirmation.mustAsk(
                unless: yes || !planned.foreign.isEmpty && !Confirmation.isPossible,
                "--yes re-encrypts them without asking")
        {
            if !planned.foreign.isEmpty {
                try Confirmation.require("Also encrypt to the keys that someone else added?")
                accepted = Set(planned.foreign.map(\.key.fingerprint))
            }
            try Confirmation.require("Continue?")
        }
        let agreed = accepted
        var count = 0
        let outcome = try Work.run { cancellation, progress in
            let fixed = try sharing.fix(
                planned, accepting: agreed, skipsUnreadable: skipUnreadable, cancellation: cancellation,
                progress: progress)
            count = fixed.count
            return fixed.outcome
        }
        sharing.retrySaves()
        Work.tell(outcome)
        if !json { Output.notice("\(count) secret\(count == 1 ? "" : "s") re-encrypted") }
        return outcome.skipped.isEmpty && outcome.left.isEmpty
    }

    /// With `--json` standard output holds one object and nothing else.
    private func tell(_ line: String) {
        if json { StandardError.print(line) } else { Output.print(line) }
    }

    private var showingAll: String {
        "passdir recipients check \(ShellWord.quoted(path)) --json shows all"
    }

    private func tell(_ report: CheckReport) {
        for drift in report.drift {
            var facts =
                drift.missing.map { "not encrypted to \($0)" } + drift.extra.map { "also encrypted to \($0)" }
            if drift.isHidden { facts.append("its recipients are hidden and cannot be compared") }
            Output.print("\(drift.secret): " + facts.joined(separator: ", "))
        }
        for problem in report.problems.prefix(Flood.most) { Output.print("! \(problem)") }
        let problems = report.problems.count - Flood.most
        if problems > 0 { Output.print("! and \(problems.counted("more problem")): \(showingAll)") }
        let missing = report.keys.filter { $0.state == .missing }
        for key in report.keys.filter({ $0.state != .missing }) + missing.prefix(Flood.most) {
            let name = [key.fingerprint ?? key.id, key.userIDs.first].compactMap(\.self).joined(
                separator: "  ")
            let end = key.expires.map { ", expires \($0)" } ?? ""
            Output.print("key \(name): " + (key.problem ?? "\(key.state.rawValue)\(end)"))
        }
        if missing.count > Flood.most {
            Output.print(
                "and \(missing.count - Flood.most) more keys that are not in the keyring: \(showingAll)")
        }
        let differing = report.drift.filter { !$0.isHidden }.count
        let remedy =
            fix || differing == 0
            ? ""
            : "; passdir recipients check \(ShellWord.quoted(path)) --fix re-encrypts "
                + (differing == 1 ? "it" : "them")
        let keys = report.keys.isEmpty ? "" : "; keys unusable or expiring soon: \(report.keys.count)"
        Output.print(
            "\(report.total) secret\(report.total == 1 ? "" : "s"), \(differing) not encrypted to exactly "
                + "\(report.total == 1 ? "its" : "their") recipients\(remedy)\(keys)")
    }
}

/// `passdir recipients confirm`.
struct RecipientsConfirmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Approve recipients that someone else added or removed.",
        discussion: """
            Shows what changed since your last approval, in which commit, and who signed it. In a store with a remote, nothing \
            is encrypted to an added key until you approve it; the setting recipients.confirm extends this to all stores, or \
            to none.

            Example: passdir recipients confirm work
            """)

    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    /// Right above the question: among many lists that say the same, whoever is in one of them only would be overlooked.
    private func tellNewReaders(_ changes: [RecipientChangeReport]) {
        let lists = Dictionary(
            grouping: changes.flatMap { change in change.added.map { (reader: $0, file: change.file) } },
            by: \.reader)
        guard changes.count > 1, !lists.isEmpty else { return }
        Output.print("In all, this approves \(lists.count.counted("reader")):")
        for (reader, named) in lists.sorted(by: { $0.key < $1.key }) {
            Output.print("  \(reader) in \(Flood.words(named.map(\.file), most: 3))")
        }
    }

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let shown = try sharing.foreignChanges(ofStore: store)
        UnsavedLists.tell(sharing, ofStore: store)
        guard !shown.changes.isEmpty || shown.isLost else { return Output.print("nothing to confirm") }
        if shown.isLost { Output.print("your earlier approvals are lost: review all recipients") }
        // What this command does itself is no advice; that a key is to be imported first is.
        let isAsked = shown.unusable.isEmpty && (yes || Confirmation.isPossible)
        // Who would read something is shown, each of them; of lists that cannot be used as they are others may push any number.
        let left = shown.unusable.filter(\.added.isEmpty).dropFirst(Flood.most)
        let isLeft = Set(left.map(\.file))
        Output.print(
            lines: shown.changes.filter { !isLeft.contains($0.file) }.flatMap {
                $0.lines + (isAsked && !$0.isAnyKeyMissing ? [] : $0.advice(store: store))
            })
        if !left.isEmpty {
            let removed = Set(left.flatMap(\.removed)).sorted()
            Output.print(
                "and \(left.count.counted("more list")) that cannot be used as they are (\(Flood.words(left.map(\.file), most: 3)))"
                    + (removed.isEmpty ? "" : ", without \(removed.joined(separator: ", "))")
                    + ": passdir status --json shows all")
        }
        if shown.canBeAgreed {
            tellNewReaders(shown.changes)
            if try Confirmation.mustAsk(unless: yes, "--yes approves them without asking") {
                try Confirmation.require("Approve?")
            }
            try sharing.confirm(shown, store: store)
            sharing.retrySaves()
            Output.success("\(store): approved the current recipients")
            tellOfRest(sharing)
        }
        guard shown.unusable.isEmpty else {
            let files = Flood.words(shown.unusable.map(\.file))
            let names = shown.unusable.flatMap {
                $0.unknown.map { VisibleText.cut($0.name, atMost: 100) }
            }
            let what = names.isEmpty ? files : names.prefix(5).joined(separator: ", ") + " in " + files
            throw DaemonError(
                message: "\(what) cannot be approved as it is: "
                    + (names.isEmpty ? "" : "import the key with passdir keys import, or ")
                    + "restore the list, then confirm again")
        }
    }

    /// An approval encrypts nothing: says what does, where there is something to do.
    private func tellOfRest(_ sharing: Sharing) {
        guard let report = try? sharing.check(store, days: 0, for: .reading) else { return }
        let count = report.drift.filter { !$0.isHidden }.count
        guard count > 0 else { return }
        Output.notice(
            "\(store): not encrypted to exactly their recipients: \(count) of \(report.total.counted("secret")); "
                + "passdir recipients check \(ShellWord.quoted(store)) --fix re-encrypts "
                + (count == 1 ? "it" : "them"))
    }
}

extension RecipientChangeReport {
    /// Lines for people.
    var lines: [String] {
        let source =
            commit.map {
                "by commit \($0.prefix(8)) of \(author ?? "?"), "
                    + (signer.map { "signed by \($0)" } ?? "not signed by a known key")
            } ?? "not committed"
        var lines = ["\(file): changed \(source); you have not approved it"]
        lines += added.map { "  + \($0)" } + removed.map { "  - \($0)" }
        for name in unknown.prefix(Self.longestList) {
            // A name may be as long as a file, and the reason names it once more.
            let shown = VisibleText.cut(name.name, atMost: 100)
            lines.append("  + \(shown): \(VisibleText.cut(name.reason, atMost: 600))")
        }
        if unknown.count > Self.longestList {
            lines.append("  and \(unknown.count - Self.longestList) more names that match no key here")
        }
        if let problem { lines.append("  ! \(problem)") }
        return lines
    }

    /// What can be done about it, a line each.
    func advice(store: String) -> [String] {
        let store = ShellWord.quoted(store)
        var lines: [String] = []
        if problem == nil {
            var first = ""
            if unknown.contains(where: \.isMissing) || isAnyKeyMissing {
                first =
                    hasPublicKeys == true
                    ? "passdir keys import \(store) (from its .public-keys) or FILE --store \(store), then "
                    : "passdir keys import FILE --store \(store), then "
            } else if !unknown.isEmpty {
                first = "replace the name with the right key's fingerprint, then "
            }
            lines.append("  to approve: \(first)passdir recipients confirm \(store)")
        }
        if let refusal { lines.append("  to refuse:  \(refusal)") }
        return lines
    }

    private static let longestList = 10
}
