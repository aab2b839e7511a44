import ArgumentParser
import Contents
import Daemon
import Stores
import System
import SystemPackage

/// `passdir health`: which passwords are to be changed.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Find passwords that are expired, due, weak, reused, old or known from breaches.",
        discussion: """
            Decrypts every secret and prints what is wrong with its password, never the password: expired (the day of its \
            line 'expires: 2027-01-31' is over), due (not changed for the period of its line 'rotate: 90d', or else of the \
            rule of its folder, [health "work/bank"] rotate = 90d in the configuration; also 12w, 6m, 1y), weak (an estimate \
            of fewer than 100 million guesses), reused (another secret has the same), exposed (somebody whom you removed from \
            the recipients could read it, and the password is still the same), old (no such line or rule, and not changed for \
            the period of --older-than), breached (in the list that --breaches names), unclear (an 'expires:' or 'rotate:' \
            line that cannot be read).

            The age is that of the last commit that changed the secret; a change of recipients does not count, and without \
            git it is that of the file. With --deep, earlier versions are decrypted to find when the first line itself \
            changed. The access rules apply to each secret. On a terminal, locked stores are unlocked first, as by \
            'passdir unlock'; one that you leave locked is not looked at. The exit status is 1 if something is found, or \
            something could not be looked at.

            Examples:
              passdir health work --deep --html health.html
              passdir health --breaches pwned-passwords-sha1-ordered-by-hash.txt
            """
    )

    @Argument(help: "The stores; all by default.", completion: StoreContext.completion)
    var stores: [String] = []

    @Flag(help: "Look at names and ages only; decrypt nothing.")
    var namesOnly = false

    @Flag(help: "Decrypt earlier versions, too.")
    var deep = false

    @Option(
        help: ArgumentHelp(
            "The SHA-1 list of Have I Been Pwned, sorted by hash; nothing is sent anywhere.",
            valueName: "file"),
        completion: .file())
    var breaches: String?

    @Option(help: ArgumentHelp("How old a password may be: 90d, 12w, 6m, 1y.", valueName: "period"))
    var olderThan = "2y"

    @Option(
        help: ArgumentHelp(
            "How often you may be asked for a passphrase or card; what needs more is not looked at.",
            valueName: "number"))
    var limit = 10

    @Flag(help: "Print one JSON object: {\"secrets\": [...], \"formerReaders\": [...], \"unread\": [...]}.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Write a page with bars for a browser; a file that is there is never replaced.", valueName: "file"
        ),
        completion: .file())
    var html: String?

    func validate() throws {
        if namesOnly, deep { throw ValidationError("choose one of '--names-only' and '--deep'") }
        if namesOnly, breaches != nil {
            throw ValidationError("'--breaches' needs the passwords, which '--names-only' does not read")
        }
        guard limit >= 0 else { throw ValidationError("the limit cannot be negative") }
        guard RotationPeriod(olderThan) != nil else {
            throw ValidationError("\"\(olderThan)\" is no period such as 90d, 12w, 6m or 1y")
        }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let page = try html.map { try HealthPage.place($0) }
        guard let period = RotationPeriod(olderThan) else { return }
        let check = try HealthCheck(
            namesOnly ? .names : deep ? .history : .texts, oldAfter: period,
            breaches: breaches.map { FilePath($0) }, limit: limit, environment: environment)
        let (places, complaints) = try places(environment)
        if places.isEmpty, complaints.isEmpty, !json { try FirstStep.check([]) }
        let report = try LockedStore.during(
            reading: namesOnly ? [] : places.map(\.store.name), refusal: .passesOver, environment: environment
        ) { cancellation in
            let bar = ProgressBar()
            defer { bar.end() }
            return try check.run(places, cancellation: cancellation) { step, done, total in
                bar.update(step.rawValue, done: done, total: total)
            }
        }
        if let page { try HealthPage(report, at: Timestamp.now()).write(to: page) }
        for complaint in complaints + report.complaints { StandardError.print("passdir: \(complaint)") }
        HealthText.tellUnread(report)
        if json { Output.print(json: HealthFacts(report)) } else { HealthText.print(report) }
        guard report.isSound, complaints.isEmpty else { throw ExitCode.failure }
    }

    private func places(
        _ environment: [String: String]
    ) throws -> (stores: [StoreAccess], complaints: [String]) {
        guard !stores.isEmpty else { return try StoreAccess.all(environment: environment) }
        var seen: Set<String> = []
        let names = try WholeStores.names(stores, "health", environment: environment)
            .filter { seen.insert($0).inserted }
        return (try StoreAccess.named(names, environment: environment), [])
    }
}
