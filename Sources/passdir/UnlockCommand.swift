import ArgumentParser
import Daemon
import Glibc
import Synchronization
import System

/// `passdir unlock`: asks for passphrases where it is typed.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Undo 'passdir lock', and enter passphrases in this terminal.",
        discussion: """
            Lets programs read the stores again after 'passdir lock'. It asks here for the passphrases of the stores' keys, \
            unless gpg-agent knows them; gpg-agent remembers them for as long as its settings allow.

            That also serves stores that are not locked: gpg-agent asks for a passphrase in the terminal or on the display of \
            the program that reads a secret. If the program has neither, it uses the terminal where you ran 'passdir mount', \
            which may be closed by now.

            Example: passdir unlock work
            """
    )

    @Argument(
        help: "The stores to unlock, by name or path; all by default.", completion: StoreContext.completion)
    var stores: [String] = []

    func run() throws {
        if let terminal = Terminal.path { setenv("GPG_TTY", terminal, 1) }
        let environment = CallerEnvironment.variables()
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let locked = try Self.locked(client, environment)
        let sharing = try Sharing(environment: environment)
        var complaints: [String] = []
        var count = 0
        let stores = try WholeStores.names(stores, "unlock", environment: environment)
        let notice = OpenPromptNotice()
        defer { notice.end() }
        try PromptInterruption.during { cancellation in
            for name in stores.isEmpty ? sharing.storeNames : stores {
                let unlocking = try sharing.unlock(store: name, cancellation: cancellation)
                complaints += unlocking.complaints
                let isLifted = unlocking.isOpen && locked.contains(name)
                if isLifted {
                    try client.unlock([name])
                } else if unlocking.isOpen {
                    // Without a mount there is nobody to tell.
                    try? client.passphrasesEntered([name])
                }
                guard isLifted || unlocking.listCount > 0 else { continue }
                count += 1
                Output.success("\(name) is unlocked")
            }
        }
        for complaint in complaints.dropLast() { StandardError.print("passdir: \(complaint)") }
        if let last = complaints.last { throw CommandFailure(last) }
        guard count == 0 else { return }
        let what = stores.count == 1 ? "the store \"\(stores[0])\" has no secret" : "there is no secret"
        throw CommandFailure("\(what) that any of your keys decrypts")
    }

    /// The stores that are locked; none where nothing is mounted.
    /// - Throws: where a daemon has locks that are not seen from here, and would stay.
    private static func locked(
        _ client: ControlClient, _ environment: [String: String]
    ) throws -> Set<String> {
        do throws(ControlError) {
            return Set(try client.access().locked)
        } catch {
            guard error.code == .noDaemon else { throw error }
            if let other = OtherDaemon.find(environment: environment) {
                throw CommandFailure(other.sentence)
            }
            return []
        }
    }
}

/// Says what keeps a prompt from being opened: gpg-agent shows one after the other, and one that was left behind, as by a
/// command that was killed, is seen by nobody.
final class OpenPromptNotice: Sendable {
    private let isOver = Atomic<Bool>(false)

    /// How long a prompt may be open that was there before.
    private static let patience = Duration.seconds(1)

    init() {
        let before = OpenPrompt.all()
        guard !before.isEmpty else { return }
        // Without a thread nothing is said.
        try? PosixThread.start(named: "open-prompt") { [self] in
            PosixThread.sleep(for: Self.patience)
            guard !isOver.load(ordering: .relaxed), let prompt = before.first(where: \.isOpen) else {
                return
            }
            StandardError.print(
                "passdir: gpg-agent may be waiting for another prompt (\(prompt.name), process \(prompt.pid)): answer "
                    + "it, or, where nobody sees it, end it with kill \(prompt.pid)")
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }
}
