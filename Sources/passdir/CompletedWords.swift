import ArgumentParser
import System

extension CompletionKind {
    /// Completes names that others may have chosen: the shell takes each as it is, whatever characters are in it.
    /// - Parameter names: those that begin with what was typed, without a shell's quotes.
    static func words(_ names: @escaping @Sendable (_ prefix: String) -> [String]) -> CompletionKind {
        .custom { _, _, typed in
            names(CompletedWords.unquoted(typed)).filter { VisibleText.line($0) == $0 }
                .map(CompletedWords.literal)
        }
    }
}

/// Words between us and the script of a shell that completes them. Those with characters that a terminal does not show as they
/// are, or that break lines, are never offered.
enum CompletedWords {
    /// A name as the shell's script must get it, to offer just that.
    static func literal(_ name: String) -> String {
        switch CompletionShell.requesting {
        case .bash?:
            // compgen -W evaluates what it is given. What it offers then is quoted once more as it is inserted, by readline.
            "'" + name.replacing("'", with: "'\\''") + "'"
        case .zsh? where !name.hasSuffix("/"):
            // _describe takes what follows a colon for a description.
            name.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
        default: name
        }
    }

    /// What was typed of a word, without the quotes of a shell; one that is still open counts.
    static func unquoted(_ typed: String) -> String {
        guard CompletionShell.requesting != nil else { return typed }
        var text = ""
        var quote: Character?
        var rest = typed[...]
        while let character = rest.popFirst() {
            switch (character, quote) {
            case ("\\", nil), ("\\", "\""): if let next = rest.popFirst() { text.append(next) }
            case ("'", nil), ("\"", nil): quote = character
            case (_, let open?) where open == character: quote = nil
            default: text.append(character)
            }
        }
        return text
    }
}
