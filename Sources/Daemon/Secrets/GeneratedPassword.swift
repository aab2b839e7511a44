public import Contents
import Settings
import System

/// A password as a command is asked for one. What was not typed is said by, in this order: the rule of the longest place that
/// holds the secret (`[generate "work/bank"]`), pass's variables, the rule for all places (`[generate]`), and what pass makes.
public struct GeneratedPassword {
    /// How many characters.
    public var length: Int?
    /// Of which characters, as tr(1) takes them.
    public var characters: String?
    /// Of letters and digits only.
    public var hasNoSymbols = false
    /// Of so many words instead.
    public var words: Int?

    /// What the rules and variables say.
    public init() {}

    /// What one of those who may say it says.
    private struct Wish {
        var length: Int?
        var words: Int?
        var characters: String?
        /// False for a set of letters and digits only.
        var symbols: Bool?
    }

    /// Makes one.
    /// - Parameter secret: STORE/PATH, whose rule counts.
    /// - Throws: one sentence where there can be no such password.
    public func make(
        for secret: String, environment: [String: String]
    ) throws(DaemonError) -> PasswordGenerator.Password {
        let rules = try DaemonError.wrapping { try Daemon.configuration(environment).placed("generate") }
        let typed = Wish(
            length: length, words: words, characters: characters, symbols: hasNoSymbols ? false : nil)
        let wishes = [
            typed, try Self.wish(rules.governing(secret)), try Self.wish(environment),
            try Self.wish(rules.general),
        ]
        let generator = PasswordGenerator()
        // Who types what characters there are to be wants no words.
        let wantsCharacters = typed.characters != nil || typed.symbols != nil
        let sized = wishes.first { $0.length != nil || $0.words != nil && !wantsCharacters }
        if let words = sized?.words, !wantsCharacters {
            return try DaemonError.wrapping { try generator.words(words) }
        }
        let length = sized?.length ?? PasswordGenerator.standardLength
        let kind = wishes.first { $0.characters != nil || $0.symbols != nil }
        return try DaemonError.wrapping {
            let set = try kind?.characters.map { try PasswordCharacters($0) }
            return try generator.characters(length, from: set ?? Self.standard(kind?.symbols, environment))
        }
    }

    private static func wish(_ section: PlacedSection?) throws(DaemonError) -> Wish {
        guard let section else { return Wish() }
        let wish = try DaemonError.wrapping {
            Wish(
                length: try section.value(Catalogue.generateLength),
                words: try section.value(Catalogue.generateWords),
                characters: try section.value(Catalogue.generateCharacters),
                symbols: try section.value(Catalogue.generateSymbols))
        }
        let isOfCharacters = wish.length != nil || wish.characters != nil || wish.symbols != nil
        guard wish.words == nil || !isOfCharacters, wish.characters == nil || wish.symbols == nil else {
            let name = section.place.isEmpty ? "[generate]" : "[generate \"\(section.place)\"]"
            throw DaemonError(
                message: "\(name) of the configuration says too much: either words, or length and one of "
                    + "characters and symbols")
        }
        return wish
    }

    private static func wish(_ environment: [String: String]) throws(DaemonError) -> Wish {
        var wish = Wish()
        if let text = variable("PASSWORD_STORE_GENERATED_LENGTH", environment) {
            guard let number = Int(text) else {
                throw DaemonError(
                    message: "PASSWORD_STORE_GENERATED_LENGTH is \"\(text)\": it must be a number")
            }
            wish.length = number
        }
        wish.characters = variable("PASSWORD_STORE_CHARACTER_SET", environment)
        return wish
    }

    /// The characters with or without symbols, where no others are named.
    private static func standard(
        _ symbols: Bool?, _ environment: [String: String]
    ) throws -> PasswordCharacters {
        guard symbols == false else {
            return try variable("PASSWORD_STORE_CHARACTER_SET", environment).map {
                try PasswordCharacters($0)
            }
                ?? .all
        }
        return try variable("PASSWORD_STORE_CHARACTER_SET_NO_SYMBOLS", environment).map {
            try PasswordCharacters($0)
        } ?? .withoutSymbols
    }

    private static func variable(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
