import ArgumentParser
import Daemon
import OpenPGP
import Stores

/// `passdir recipients settle`.
struct RecipientsSettleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle",
        abstract: "Resolve recipient lists that were changed both here and on the remote.",
        discussion: """
            Shows what each side changed. With a choice, the list is changed as by 'recipients set', which shows \
            whom it adds and asks first; all other changes of both sides are merged and pushed. Secrets that the \
            remote encrypted to its own list are counted, and left for 'recipients check --fix'.

            Example: passdir recipients settle work --merged
            """)

    enum Choice: String, EnumerableFlag {
        case merged, ours, theirs

        static func help(for value: Choice) -> ArgumentHelp? {
            switch value {
            case .merged: "Everyone that either side added, without anyone that either removed."
            case .ours: "The list as it is here."
            case .theirs: "The list as it is on the remote."
            }
        }
    }

    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String

    @Flag var choice: Choice?

    @Flag(help: "Leave secrets unchanged if none of your keys decrypts them.")
    var skipUnreadable = false

    @Flag(name: [.short, .long], help: "Do not ask; approve no key that someone else added.")
    var yes = false

    @Flag(help: "Allow a list that leaves none of your keys able to read the result.")
    var lockMeOut = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let lists = try sharing.partedLists(ofStore: store, for: choice == nil ? .reading : .writing)
        UnsavedLists.tell(sharing, ofStore: store)
        guard !lists.isEmpty else {
            return Output.print("no recipient list was changed on both sides")
        }
        for list in lists {
            Output.print("\(list.place):")
            Output.print("  here:       \(Self.changes(from: list.base, to: list.ours))")
            if list.isTheirsDamaged {
                Output.print("  the remote: damaged: not UTF-8 text")
                continue
            }
            Output.print("  the remote: \(Self.changes(from: list.base, to: list.theirs))")
            Output.print("  merged:     \(list.merged.joined(separator: ", "))")
        }
        guard let choice else {
            throw DaemonError(
                message:
                    "nothing was changed: choose a list with --merged, --ours or --theirs"
            )
        }
        for list in lists { try settle(list, choice, sharing) }
        try sharing.merge(lists, ofStore: store)
        let drift = try sharing.check(store, days: 0, for: .reading).drift.count
        Output.success("\(store): merged")
        if drift > 0 {
            Output.print(
                "\(drift) secret\(drift == 1 ? " was" : "s were") encrypted to the remote's list, not to "
                    + "exactly \(drift == 1 ? "its" : "their") recipients: passdir recipients check --fix "
                    + "\(store) shows and re-encrypts them")
        }
    }

    private func settle(
        _ list: PartedRecipients, _ choice: Choice, _ sharing: Sharing
    ) throws {
        guard choice == .ours || !list.isTheirsDamaged else {
            throw DaemonError(
                message:
                    "the remote's list of \(list.place) is damaged and cannot be used: passdir recipients "
                    + "settle \(ShellWord.quoted(store)) --ours keeps the local one")
        }
        let lines =
            switch choice {
            case .merged: list.merged
            case .ours: list.ours
            case .theirs: list.theirs
            }
        guard !lines.isEmpty else {
            throw DaemonError(
                message:
                    "\(list.place) would have no recipients: name some with passdir recipients set "
                    + "\(ShellWord.quoted(list.place)) KEY, then run passdir recipients settle "
                    + "\(ShellWord.quoted(store)) --ours")
        }
        guard lines != list.ours else { return }
        if yes || !Confirmation.isPossible { try refuseForeign(list, lines, choice, sharing) }
        var options = ChangeOptions()
        options.path = list.place
        options.skipUnreadable = skipUnreadable
        options.yes = yes
        options.lockMeOut = lockMeOut
        options.dryRun = false
        try options.make(.take(lines))
    }

    /// Where nobody is asked, keys that others added have to be named: says in which command.
    private func refuseForeign(
        _ list: PartedRecipients, _ lines: [String], _ choice: Choice, _ sharing: Sharing
    ) throws {
        let planned = try sharing.plan(.take(lines), at: list.place, for: .writing)
        guard !planned.foreign.isEmpty, planned.lostAgreement == nil else { return }
        let titles = planned.foreign.map(\.key.title).joined(separator: ", ")
        let keys = planned.foreign.map(\.key.fingerprint.description).joined(separator: " ")
        let skip = skipUnreadable ? " --skip-unreadable" : ""
        let lockOut = lockMeOut ? " --lock-me-out" : ""
        throw DaemonError(
            message:
                "\(titles) was added to \(list.place) by others and you have not approved it: run this on a "
                + "terminal without --yes to be asked, or approve it with passdir recipients add "
                + "\(ShellWord.quoted(list.place)) \(keys) --yes\(skip), then run passdir recipients "
                + "settle \(ShellWord.quoted(store)) --\(choice.rawValue) --yes\(skip)\(lockOut)")
    }

    private static func changes(from base: [String], to lines: [String]) -> String {
        let changes =
            lines.filter { !base.contains($0) }.map { "+ \($0)" }
            + base.filter { !lines.contains($0) }.map { "- \($0)" }
        return changes.isEmpty ? "only other lines or comments" : changes.joined(separator: ", ")
    }
}
