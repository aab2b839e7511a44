import ArgumentParser
import Daemon
import Glibc
import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// `passdir show`: a secret, or a part of it, on standard output, the clipboard, or as a QR code.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a secret or a part of it, or copy it to the clipboard.",
        discussion: """
            Without options, it prints the whole secret, byte for byte. --clip and --qr take the first line unless you choose \
            another part. A folder is listed, as by 'passdir list'. The path may leave out the store: it is looked for in \
            all of them. The access rules apply to the program that runs this command.

            Examples:
              passdir show work/mail/imap
              passdir show work/mail/imap --field user
              passdir show mail/imap --clip   # for 45 s
              passdir show work/mail/imap --at yesterday
            """
    )

    @Argument(
        help: "The secret or folder: STORE/PATH, PATH in any store, or a path in the mount.",
        completion: PlaceCompletion.anyPlaces)
    var path: String?

    @OptionGroup var part: PartOptions
    @OptionGroup var clipboard: ClipboardOptions

    @Flag(name: [.customLong("qr"), .customLong("qrcode")], help: "Draw it as a QR code.")
    var isCode = false

    @Option(
        help: ArgumentHelp("An earlier version, as of 'passdir restore --at'.", valueName: "when"),
        completion: PlaceCompletion.commits)
    var at: String?

    func validate() throws {
        if at != nil, part.otp { throw ValidationError("'--otp' and '--at' cannot be used together") }
        if clipboard.isWanted, isCode { throw ValidationError("choose one of '--clip' and '--qr'") }
        guard path != nil || isWhole && at == nil else {
            throw ValidationError("name a secret: passdir list lists them")
        }
    }

    /// Whether no part of a secret is asked for, and no other place for it.
    private var isWhole: Bool { part.wanted == nil && !part.otp && !clipboard.isWanted && !isCode }

    func run() throws {
        let environment = CallerEnvironment.variables()
        guard let path else { return try ListCommand.parse([]).run() }
        // Where it cannot be copied, nothing is decrypted, and no code is used up.
        try clipboard.check(environment)
        if let at { return try put(try version(of: path, at, environment), path, environment) }
        let place = try SecretSearch(environment: environment).existing(path, for: .reading)
        if place.kind == .folder, isWhole {
            return try ListCommand.parse(["--", place.name]).run()
        }
        if part.otp {
            let code = try LockedStore.during(reading: place, environment: environment) {
                try OneTimeCode.next(of: place, cancellation: $0, environment: environment)
            }
            return try put(part: code, place.name, environment)
        }
        let text = try LockedStore.during(reading: place, environment: environment) {
            try place.text(cancellation: $0, environment: environment).bytes
        }
        try put(text, place.name, environment)
    }

    private func put(_ text: SecretBytes, _ name: String, _ environment: [String: String]) throws {
        let part = part.wanted ?? (clipboard.isWanted || isCode ? .line(1) : .whole)
        let value = try part.of(text, named: name)
        if part == .whole { return Output.write(secret: value) }
        try put(part: value, name, environment)
    }

    private func put(part value: SecretBytes, _ name: String, _ environment: [String: String]) throws {
        if clipboard.isWanted { return try clipboard.copy(value, name, environment) }
        try Output.print(secret: value, asCode: isCode)
    }

    private func version(
        of path: String, _ at: String, _ environment: [String: String]
    ) throws -> SecretBytes {
        let search = try SecretSearch(environment: environment)
        // It may have been removed since.
        let name = (try? search.existing(path, for: .reading))?.name ?? path
        let access = try search.past(name, for: .reading)
        let history = try StoreHistory(access.store)
        let version = try history.version(
            of: access.path, secret: access.backingPath, at: RestoreCommand.point(at))
        guard !version.isFolder, let file = version.files.first else {
            throw CommandFailure("\(path) was a folder: name a secret in it to see its content")
        }
        return try LockedStore.during(reading: [access.store.name], environment: environment) {
            cancellation in
            try CommandRead.judged(
                version, history, of: access, cancellation: cancellation, environment: environment
            ) { try history.plaintext(of: file, cancellation: cancellation) }
        }
    }
}

extension Output {
    /// A value and a newline, or the value as a QR code.
    static func print(secret value: SecretBytes, asCode: Bool) throws {
        if asCode { return write(drawing: try QRCode.drawn(value, coloured: isatty(STDOUT_FILENO) == 1)) }
        Self.print(secret: value)
    }
}

/// Which part of a secret is wanted.
struct PartOptions: ParsableArguments {
    @Flag(help: "Only the first line, the password.")
    var first = false

    @Option(help: ArgumentHelp("Only this line, from 1.", valueName: "number"))
    var line: Int?

    @Option(help: ArgumentHelp("Only the value of a line 'KEY: value'.", valueName: "key"))
    var field: String?

    @Flag(help: "Only the present one-time code.")
    var otp = false

    /// What was asked for; nil where nothing was.
    var wanted: SecretPart? {
        if first { return .first }
        if let field { return .field(field) }
        return line.map { .line($0) }
    }

    func validate() throws {
        guard line.map({ $0 > 0 }) ?? true else { throw ValidationError("lines are counted from 1") }
        guard [first, line != nil, field != nil, otp].count(where: \.self) < 2 else {
            throw ValidationError("choose one part of the secret")
        }
    }
}

/// Whether something goes to the clipboard, and for how long.
struct ClipboardOptions: ParsableArguments {
    @Flag(
        name: [.customShort("c"), .customLong("clip")],
        help: "Copy it to the clipboard, and take it off again after a while.")
    var isWanted = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long it stays there: 45s, 2m. (default: $PASSWORD_STORE_CLIP_TIME, else 45s)",
            valueName: "time"))
    var time: String?

    func validate() throws {
        guard let time else { return }
        guard isWanted else { throw ValidationError("'--for' needs '--clip'") }
        do throws(DaemonError) {
            _ = try Clipboard.seconds(time, environment: [:])
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Before something is made to be copied.
    /// - Throws: one sentence where nothing can be.
    func check(_ environment: [String: String]) throws {
        guard isWanted else { return }
        _ = try Clipboard.seconds(time, environment: environment)
        try Clipboard.check(environment: environment)
    }

    func copy(_ value: SecretBytes, _ name: String, _ environment: [String: String]) throws {
        let seconds = try Clipboard.seconds(time, environment: environment)
        try Clipboard.copy(value, seconds: seconds, environment: environment)
        Output.success("copied \(name) to the clipboard for \(seconds) s")
    }
}

/// `passdir hold-clipboard`: what `--clip` starts to take a secret off the clipboard again.
struct HoldClipboardSubcommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: Clipboard.holderCommand, abstract: "Hold a secret for the clipboard; not for people.",
        shouldDisplay: false)

    @Option var seconds: Int
    @Option(name: .customLong("ready-fd")) var readyDescriptor: Int32

    func run() throws {
        ProcessProtection.harden()
        let readiness: Readiness
        do throws(Errno) {
            readiness = try Readiness(descriptor: readyDescriptor)
        } catch {
            throw CommandFailure("descriptor \(readyDescriptor) is not open: \(error)")
        }
        ClipboardHolder.run(
            seconds: seconds, environment: CallerEnvironment.variables(), readiness: readiness)
    }
}
