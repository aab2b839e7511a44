import ArgumentParser
import Daemon
import OpenPGP
import Stores
import System
import SystemPackage

/// `passdir recipients resume`.
struct RecipientsResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Finish an interrupted change of recipients.",
        discussion: """
            Shows which keys would be added and removed, then asks.

            Example: passdir recipients resume work
            """)

    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let change = try sharing.interrupted(store: store)
        UnsavedLists.tell(sharing, ofStore: store)
        for key in change.rest.added { Output.print("+ " + key.key.title) }
        for key in change.rest.removed { Output.print("- " + key.key.title) }
        Output.print("\(change.place): a change of \(change.rest.secrets.counted("secret")) was interrupted")
        if try Confirmation.mustAsk(unless: yes, "--yes resumes without asking") {
            try Confirmation.require("Continue?")
        }
        let outcome = try Work.run { cancellation, progress in
            try sharing.resume(change, cancellation: cancellation, progress: progress)
        }
        sharing.retrySaves()
        Work.tell(outcome)
    }
}

/// `passdir recipients abort`.
struct RecipientsAbortCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "abort", abstract: "Undo an interrupted change of recipients.",
        discussion: """
            Also stops the change that saving a '.gpg-id' in the mount is making: the program that saves it gets an error \
            (ECANCELED), and this command says where the new list is kept.

            Secrets saved or copied in the meantime stay; they are encrypted to the recipients now in force, then committed.

            Example: passdir recipients abort work
            """)

    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String

    @Flag(help: "Leave secrets unchanged if they cannot be encrypted again.")
    var skipUnreadable = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        if let save = sharing.abortSave(ofStore: store) { return Self.tell(save) }
        let outcome = try sharing.abort(store: store, skipsUnreadable: skipUnreadable)
        UnsavedLists.tell(sharing, ofStore: store)
        sharing.retrySaves()
        switch outcome {
        case .undone(let undone): Self.tell(undone)
        case .wasFinished: Output.notice(Self.isComplete)
        }
    }

    private static let isUndone = "the change is undone: everything is as it was before"
    private static let isComplete = "the change was already complete and committed, so it stays"

    private static func tell(_ save: AbortedSave) {
        guard save.outcome == .undone else { return Output.notice(isComplete) }
        Output.notice(isUndone)
        if let place = save.keptAt { Output.notice("the .gpg-id that was being saved is kept in \(place)") }
    }

    private static func tell(_ undone: Reencryption.Undone) {
        guard !undone.isComplete else {
            return Output.notice(isUndone)
        }
        Output.notice("the change is undone")
        for secret in undone.again {
            Output.notice("re-encrypted, as it was still encrypted to the added keys: \(secret.string)")
        }
        for secret in undone.left {
            Output.notice("left unchanged, still encrypted to the added keys: \(secret.string)")
        }
        if let list = undone.foreignList {
            Output.notice(
                "\(list.string) was changed or removed by someone else in the meantime, and is left as it is")
        }
        if undone.isStashed {
            Output.notice(
                "git's stash still has the change: git stash pop would bring it back, git stash drop removes it"
            )
        }
    }
}
