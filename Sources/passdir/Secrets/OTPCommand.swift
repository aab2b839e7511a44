import ArgumentParser
import Daemon
import OpenPGP
import Stores
import System
import SystemPackage

/// `passdir otp`: one-time codes, as pass-otp has them.
struct OTPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "otp",
        abstract: "Print one-time codes, and add the URIs that they are made from.",
        discussion: "Example: passdir otp work/mail/imap --clip",
        subcommands: [OTPCodeCommand.self, OTPAddCommand.self, OTPURICommand.self],
        defaultSubcommand: OTPCodeCommand.self
    )
}

/// What the subcommands print, and of which secret.
struct OTPOutput: ParsableArguments {
    @Argument(help: "The secret: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    @OptionGroup var clipboard: ClipboardOptions

    @Flag(name: [.customLong("qr"), .customLong("qrcode")], help: "Draw it as a QR code.")
    var isCode = false

    func validate() throws {
        if clipboard.isWanted, isCode { throw ValidationError("choose one of '--clip' and '--qr'") }
    }

    /// - Parameter value: makes it of the secret; a prompt that it waits for is closed by Ctrl-C.
    func put(
        _ value: (SecretPlace, Cancellation, [String: String]) throws -> SecretBytes
    ) throws {
        let environment = CallerEnvironment.variables()
        // Where it cannot be copied, no code is used up.
        try clipboard.check(environment)
        let place = try SecretSearch(environment: environment).existing(path, for: .reading)
        let value = try LockedStore.during(reading: place, environment: environment) {
            try value(place, $0, environment)
        }
        if clipboard.isWanted { return try clipboard.copy(value, place.name, environment) }
        try Output.print(secret: value, asCode: isCode)
    }
}

/// `passdir otp code`.
struct OTPCodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "code", abstract: "Print the present code of a secret.",
        discussion: """
            The secret needs a line with an otpauth:// URI. If it counts its codes (HOTP), the next number is saved before the \
            code is printed, so that no code is printed twice on one machine.

            Example: passdir otp work/mail/imap
            """)

    @OptionGroup var output: OTPOutput

    func run() throws {
        try output.put { (place, cancellation, environment) in
            try OneTimeCode.next(of: place, cancellation: cancellation, environment: environment)
        }
    }
}

/// `passdir otp uri`.
struct OTPURICommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uri", abstract: "Print the otpauth URI of a secret.",
        discussion: "Example: passdir otp uri work/mail/imap --qr")

    @OptionGroup var output: OTPOutput

    func run() throws {
        try output.put { (place, cancellation, environment) in
            let text = try place.text(cancellation: cancellation, environment: environment)
            return try OneTimeCode.uri(text.bytes, named: place.name)
        }
    }
}

/// `passdir otp add`.
struct OTPAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add an otpauth URI to a secret, or make a secret of it.",
        discussion: """
            Without URI, it is asked for on a terminal, or read from standard input, as one line. Other users of the machine \
            can see an argument, so pipe it in if you can. A PNG file with its QR code is read by zbarimg.

            Examples:
              passdir otp add work/mail/imap
              passdir otp add work/mail/imap --image code.png
            """, aliases: ["append", "insert"])

    @Argument(help: "The secret: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    @Argument(help: "The URI: otpauth://totp/...")
    var uri: String?

    @Option(
        help: ArgumentHelp("A PNG file with the QR code of the URI.", valueName: "file"),
        completion: .file(extensions: ["png"]))
    var image: String?

    @Flag(name: [.short, .long], help: "Replace the URI that is there without asking.")
    var force = false

    func validate() throws {
        if uri != nil, image != nil { throw ValidationError("choose one of the URI and '--image'") }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let shown = try image.map { try QRCodePicture(FilePath($0)).oneTimeURI(environment: environment) }
        let place = try NewPlace.find(path, environment: environment)
        let known = try place.lookToSave(environment: environment)
        let old = try known.map { _ in
            try LockedStore.during(reading: place, environment: environment) {
                try place.text(cancellation: $0, environment: environment)
            }
        }
        var loss = SecretPlace.Loss.agreed
        if let old, (try? OneTimeCode.uri(old.bytes, named: place.name)) != nil {
            loss = try Overwriting.require(
                ["the URI of \(place.name)"], unkept: place.unkept(), force: force)
        }
        let uri = try shown ?? TypedSecret.oneTimeURI(uri, for: place.name, environment: environment)
        let text = try OneTimeCode.adding(uri, to: old?.bytes)
        let verb = old == nil ? "Add" : "Append"
        let kept = try place.save(
            text, replacing: old?.status, losing: loss,
            message: "\(verb) given OTP secret for \(place.passName) to store.")
        Output.tell(kept: kept)
        Output.success("saved the URI in \(place.name)")
    }
}
