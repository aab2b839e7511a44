import ArgumentParser
import Daemon
import Glibc
import OpenPGP
import Stores
import SystemPackage

/// `passdir recipients`: who can read a store or a folder of it.
struct RecipientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipients",
        abstract: "Show and change who can read a store or a folder.",
        discussion: """
            PATH is STORE, STORE/FOLDER, or a path under the mount. A KEY is a fingerprint, a key id, an address, \
            or a group in gpg.conf. A change encrypts everything below PATH again, in one commit; folders with their own \
            .gpg-id are left alone. You can stop it with Ctrl-C, then resume or abort it. Access rules that refuse you, or the \
            program that runs this, a read of anything below PATH refuse the change, too.

            Example: passdir recipients show work/mail
            """,
        subcommands: [
            RecipientsShowCommand.self, RecipientsAddCommand.self, RecipientsRemoveCommand.self,
            RecipientsSetCommand.self, RecipientsUnsetCommand.self, RecipientsResumeCommand.self,
            RecipientsAbortCommand.self,
            RecipientsCheckCommand.self, RecipientsConfirmCommand.self,
            RecipientsSettleCommand.self,
        ]
    )
}

/// `passdir recipients show`.
struct RecipientsShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show who can read a store or a folder.",
        discussion: "Example: passdir recipients show work", aliases: OtherNames.of("show", like: "list"))

    @Argument(
        help: "STORE, STORE/FOLDER, or a path under the mount.", completion: PlaceCompletion.folders)
    var path: String

    @Flag(help: "Print one JSON object: {\"place\": ..., \"file\": ..., \"recipients\": [...]}.")
    var json = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let report = try sharing.recipients(of: path)
        UnsavedLists.tell(sharing, at: path)
        if json { return Output.print(json: report) }
        let source = report.file.map { "named in \($0)" } ?? "named in PASSWORD_STORE_KEY"
        Output.print("\(report.place): \(source)")
        for recipient in report.recipients { Output.print("  " + recipient.sentence) }
        if report.recipients.contains(where: \.isUnapproved) {
            let store = ShellWord.quoted(String(report.place.prefix { $0 != "/" }))
            StandardError.warn(
                "others have added whom you have not approved: passdir recipients confirm \(store) shows and asks"
            )
        }
    }
}

extension RecipientReport {
    /// A line for people.
    var sentence: String {
        let name = [fingerprint, userID].compactMap(\.self).joined(separator: "  ")
        return (name.isEmpty ? line : name) + (isOwn ? "  (yours)" : "")
            + (isUnapproved ? "  (not approved)" : "") + (problem.map { "  ! \($0)" } ?? "")
    }
}

/// The keys that a change of recipients is about.
struct ChangedKeys: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Fingerprints, key ids, addresses or groups.", valueName: "key"),
        completion: PlaceCompletion.keys)
    var keys: [String]
}

/// What the commands that change recipients have in common.
struct ChangeOptions: ParsableArguments {
    @Argument(
        help: "STORE, STORE/FOLDER, or a path under the mount.", completion: PlaceCompletion.folders)
    var path: String

    @Flag(help: "Leave secrets unchanged if none of your keys decrypts them.")
    var skipUnreadable = false

    @Flag(
        name: [.short, .long], help: "Do not ask; approve the keys named here and no others.")
    var yes = false

    @Flag(help: "Allow a change that leaves none of your keys able to read the result.")
    var lockMeOut = false

    @Flag(help: "Show what would change, and change nothing.")
    var dryRun = false

    func make(_ edit: RecipientEdit) throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let planned = try sharing.plan(edit, at: path, for: dryRun ? .reading : .writing)
        UnsavedLists.tell(sharing, at: path)
        let change = planned.change
        var judged: Sharing.Judged?
        if !dryRun, !planned.isEmpty {
            // Where nobody is asked, all that is refused is refused before a word is said of what would change.
            let isAsked = !yes && Confirmation.isPossible
            let isRefused = !planned.foreign.isEmpty || change.locksOut && !lockMeOut
            judged = try sharing.check(
                planned,
                consent: isAsked || !yes && !isRefused ? nil : ChangeConsent(isLockedOut: lockMeOut),
                skipsUnreadable: skipUnreadable)
        }
        // The list may be long: what is asked about comes last.
        if change.removesAny {
            change.secrets.forEach { tell("  " + $0.withoutSuffix.string) }
        }
        for key in change.added { tell("+ " + key.key.title) }
        for key in change.removed { tell("- " + key.key.title) }
        for line in change.removedLines { tell("- \(line)  (no key in the keyring)") }
        guard !planned.isEmpty else {
            tell("\(planned.place): nothing to change")
            return
        }
        for key in planned.awaited {
            tell("+ \(key.key.title) was put in the list by someone else: this approves it")
        }
        if change.isLossUnagreed {
            tell("- your own key was taken out of the list by someone else: this approves it")
        }
        if planned.removesList { tell("- the folder's own .gpg-id") }
        if !change.isEmpty {
            tell(
                "\(planned.place): \(change.secrets.count) of \(change.total) "
                    + "secret\(change.total == 1 ? "" : "s") will be re-encrypted")
        }
        // Of an empty store nobody has read anything.
        if change.removesAny, change.total > 0 { warnOfRemoval(change, hasHistory: planned.hasHistory) }
        for key in planned.foreign {
            tell("! \(key.key.title) was added by someone else, and you have not approved it")
        }
        if dryRun { return }
        let consent = try self.consent(to: planned)
        let outcome = try Work.run { [judged] cancellation, progress in
            try sharing.make(
                planned, consent: consent, skipsUnreadable: skipUnreadable, after: judged,
                cancellation: cancellation, progress: progress)
        }
        sharing.retrySaves()
        Work.tell(outcome)
        Output.success("\(planned.place): recipients changed")
    }

    /// What is about to change: whoever is asked about it sees it, and `--dry-run` asks for it.
    private func tell(_ line: String) {
        if dryRun || !yes { Output.print(line) } else { Output.notice(line) }
    }

    /// Asks what has to be asked. Where nobody can be asked, what was not said in the command is refused.
    /// - Throws: When the answer is no.
    private func consent(to planned: PlannedChange) throws -> ChangeConsent {
        var consent = ChangeConsent(isLockedOut: lockMeOut)
        let foreign = planned.foreign
        let canAsk = try Confirmation.mustAsk(unless: yes, "--yes makes this change without asking")
        if !foreign.isEmpty, canAsk {
            try Confirmation.require("Also encrypt to the keys that someone else added?")
            consent.foreign = Set(foreign.map(\.key.fingerprint))
        }
        if planned.change.locksOut, !lockMeOut, canAsk {
            Output.print(
                "None of these keys is yours: you will no longer be able to read what is in \(planned.place)."
            )
            try Confirmation.require("Lock yourself out?")
            consent.isLockedOut = true
        }
        if canAsk { try Confirmation.require("Continue?") }
        return consent
    }

    private func warnOfRemoval(_ change: RecipientChange, hasHistory: Bool) {
        let warning =
            hasHistory
            ? "Whoever is removed can still read every secret in the history of the store, and in copies of it."
            : "Whoever is removed can still read every secret in copies of the store."
        let count = change.secrets.count
        let which =
            count == 0
            ? "the passwords that are in it"
            : count == 1 ? "the password above" : "the \(count) passwords above"
        tell("\(warning) Change \(which) where \(count == 1 ? "it is" : "they are") used.")
    }
}

/// `passdir recipients add`.
struct RecipientsAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Start encrypting a store or a folder to more keys.",
        discussion: "Example: passdir recipients add work bob@example.org")
    @OptionGroup var options: ChangeOptions
    @OptionGroup var changed: ChangedKeys
    func run() throws { try options.make(.add(changed.keys)) }
}

/// `passdir recipients remove`.
struct RecipientsRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Stop encrypting a store or a folder to these keys.",
        discussion: """
            Nothing is removed from your keyring.

            Example: passdir recipients remove work bob@example.org
            """, aliases: OtherNames.of("remove"))
    @OptionGroup var options: ChangeOptions
    @OptionGroup var changed: ChangedKeys
    func run() throws { try options.make(.remove(changed.keys)) }
}

/// `passdir recipients set`.
struct RecipientsSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Encrypt a store or a folder to exactly these keys.",
        discussion: """
            Like 'pass init': a folder without its own .gpg-id gets one.

            Example: passdir recipients set work/mail ann@example.org bob@example.org
            """)
    @OptionGroup var options: ChangeOptions
    @OptionGroup var changed: ChangedKeys
    func run() throws { try options.make(.set(changed.keys)) }
}

/// `passdir recipients unset`.
struct RecipientsUnsetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Let a folder inherit the recipients of its parent.",
        discussion: """
            Like 'pass init -p FOLDER ""': everything below is encrypted again, and the folder's own .gpg-id is removed. \
            Running 'rm .gpg-id' in the mount does the same.

            Example: passdir recipients unset work/mail
            """)
    @OptionGroup var options: ChangeOptions
    func run() throws { try options.make(.inherit) }
}
