/// The characters that a password is made of, as `pass` takes them in PASSWORD_STORE_CHARACTER_SET: in the syntax of tr(1), in the
/// C locale.
///
/// - `a-z` is a range, from a character to one that is not before it. A hyphen at an end is itself.
/// - `[:alnum:]` is a class: alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, upper, xdigit. `[=x=]` is the
///   character x.
/// - `\\`, `\a`, `\b`, `\f`, `\n`, `\r`, `\t`, `\v` and up to three octal digits stand for characters; a backslash before
///   another one, for that, as itself. One at the end is itself.
/// - `[x*5]` is the character x, `[x*]` is an error: as in `tr -d`.
///
/// A set holds at least one character, and printable ones of ASCII only, the space being one: another cannot be typed, or
/// ends the line that the password is.
public struct PasswordCharacters: Sendable, Equatable {
    /// The characters, each once, in the order of ASCII.
    let characters: [UInt8]

    /// How many characters there are.
    public var count: Int { characters.count }

    /// Letters, digits and punctuation, 94 characters: what `pass generate` takes.
    public static let all = PasswordCharacters(0x21...0x7e)
    /// Letters and digits, 62 characters: what `pass generate --no-symbols` takes.
    public static let withoutSymbols = PasswordCharacters((0x21...0x7e).filter { $0.isLetter || $0.isDigit })

    private init(_ characters: some Sequence<UInt8>) { self.characters = Array(characters) }

    /// The set that a text describes.
    /// - Throws: `.invalid` for a set that is empty, is not in the syntax, or holds a character that a password cannot have.
    public init(_ text: String) throws(ContentsError) {
        var parser = PasswordCharactersParser(text)
        let members = try parser.members()
        guard !members.isEmpty else { throw ContentsError(.invalid, "the set '\(text)' holds no character") }
        guard members.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            throw ContentsError(
                .invalid, "the set '\(text)' holds a character that is no printable one of ASCII")
        }
        self.init(members.sorted())
    }
}
