public import Contents
import System

/// A password as a command is asked for one, with what pass's variables say where nothing was typed.
public struct GeneratedPassword {
    /// How many characters; nil: PASSWORD_STORE_GENERATED_LENGTH, or 25.
    public var length: Int?
    /// Of which characters, as tr(1) takes them; nil: PASSWORD_STORE_CHARACTER_SET.
    public var characters: String?
    /// Of those without symbols: PASSWORD_STORE_CHARACTER_SET_NO_SYMBOLS.
    public var hasNoSymbols = false
    /// Of so many words instead.
    public var words: Int?

    /// What pass makes.
    public init() {}

    /// Makes one.
    /// - Throws: one sentence where there can be no such password.
    public func make(environment: [String: String]) throws(DaemonError) -> PasswordGenerator.Password {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let generator = PasswordGenerator()
        if let words { return try DaemonError.wrapping { try generator.words(words) } }
        var length = length ?? PasswordGenerator.standardLength
        if self.length == nil, let text = variable("PASSWORD_STORE_GENERATED_LENGTH") {
            guard let number = Int(text) else {
                throw DaemonError(
                    message: "PASSWORD_STORE_GENERATED_LENGTH is \"\(text)\": it must be a number")
            }
            length = number
        }
        let name = hasNoSymbols ? "PASSWORD_STORE_CHARACTER_SET_NO_SYMBOLS" : "PASSWORD_STORE_CHARACTER_SET"
        return try DaemonError.wrapping {
            let set =
                try (characters ?? variable(name)).map { try PasswordCharacters($0) }
                ?? (hasNoSymbols ? .withoutSymbols : .all)
            return try generator.characters(length, from: set)
        }
    }
}
