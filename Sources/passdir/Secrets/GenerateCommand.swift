import ArgumentParser
import Contents
import Daemon
import Stores
import System
import SystemPackage

/// `passdir generate`: a new password.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Make a new password, save and print it.",
        discussion: """
            The characters come from the kernel's randomness, each as likely as any other. Without options, it has 25 \
            characters, or what $PASSWORD_STORE_GENERATED_LENGTH and $PASSWORD_STORE_CHARACTER_SET say; with --no-symbols, \
            $PASSWORD_STORE_CHARACTER_SET_NO_SYMBOLS. --words chooses from the EFF's long list of 7776 words.

            A folder can have rules of its own: a section [generate "work/bank"] of the configuration with length, \
            characters, symbols or words. That of the longest place counts, before pass's variables and after the options; \
            [generate] without a place comes last.

            Examples:
              passdir generate work/new 30
              passdir generate work/mail/imap --in-place --clip
              passdir generate private/disk --words 6
            """
    )

    @Argument(help: "The secret: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    @Argument(help: "How many characters.")
    var length: Int?

    @Flag(name: [.customShort("n"), .long], help: "Letters and digits only.")
    var noSymbols = false

    @Option(
        help: ArgumentHelp(
            "The characters to choose from, as for tr(1): 'a-z0-9', '[:alnum:]'.", valueName: "set"))
    var characters: String?

    @Option(help: ArgumentHelp("So many words instead of characters.", valueName: "number"))
    var words: Int?

    @Flag(name: [.customShort("i"), .long], help: "Replace the first line of a secret, and keep the others.")
    var inPlace = false

    @Flag(name: [.short, .long], help: "Replace a secret that is there without asking.")
    var force = false

    @OptionGroup var clipboard: ClipboardOptions

    @Flag(name: [.customLong("qr"), .customLong("qrcode")], help: "Draw it as a QR code.")
    var isCode = false

    func validate() throws {
        if inPlace, force { throw ValidationError("choose one of '--in-place' and '--force'") }
        if clipboard.isWanted, isCode { throw ValidationError("choose one of '--clip' and '--qr'") }
        guard [length != nil, words != nil].count(where: \.self) < 2 else {
            throw ValidationError("choose a number of characters or of words")
        }
        let most = PasswordGenerator.lengthLimit
        for (number, what) in [(length, "characters"), (words, "words")] {
            guard number.map({ (1...most).contains($0) }) ?? true else {
                throw ValidationError("a password has 1 to \(most) \(what)")
            }
        }
        if let characters {
            do throws(ContentsError) {
                _ = try PasswordCharacters(characters)
            } catch {
                throw ValidationError(error.message)
            }
        }
        guard [noSymbols, characters != nil, words != nil].count(where: \.self) < 2 else {
            throw ValidationError("choose one of '--no-symbols', '--characters' and '--words'")
        }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        var wish = GeneratedPassword()
        (wish.length, wish.characters, wish.hasNoSymbols, wish.words) = (length, characters, noSymbols, words)
        // Where it cannot be copied, nothing is changed.
        try clipboard.check(environment)
        let place: SecretPlace
        let password: PasswordGenerator.Password
        let kept: String?
        var note: String?
        if inPlace {
            place = try SecretSearch(environment: environment).existing(path, for: .writing)
            password = try wish.make(for: place.name, environment: environment)
            _ = try place.lookToSave(environment: environment)
            let old = try LockedStore.during(reading: place, environment: environment) {
                try place.text(cancellation: $0, environment: environment)
            }
            let loss = try Losing.require(place.unkept(), "Replace it")
            let text = try old.bytes.withUnsafeBytes { old in
                try password.text.withUnsafeBytes { try SecretEdit.replacingFirstLine(of: old, with: $0) }
            }
            kept = try place.save(
                text, replacing: old.status, losing: loss,
                message: "Replace generated password for \(place.passName).")
        } else {
            place = try NewPlace.find(path, environment: environment)
            password = try wish.make(for: place.name, environment: environment)
            let known = try place.lookToSave(environment: environment)
            note = place.noteOfNewFolder
            let loss =
                try known == nil
                ? .refused : Overwriting.require([place.name], unkept: place.unkept(), force: force)
            kept = try place.save(
                password.text.endingWithNewline(), replacing: known, losing: loss,
                message: "Add generated password for \(place.passName).")
        }
        Output.tell(kept: kept)
        if clipboard.isWanted {
            try clipboard.copy(password.text, place.name, environment)
        } else {
            try Output.print(secret: password.text, asCode: isCode)
        }
        Output.success("saved \(place.name), whose password has \(Int(password.bits)) bits of entropy")
        Output.tell(note)
    }
}

extension SecretBytes {
    /// As pass ends what it makes or is typed.
    func endingWithNewline() throws(Errno) -> SecretBytes {
        var buffer = try SecretBuffer(copying: self)
        let end = buffer.count
        try buffer.resize(to: end + 1)
        buffer.withUnsafeMutableBytes { $0[end] = UInt8(ascii: "\n") }
        return buffer.freeze()
    }
}
