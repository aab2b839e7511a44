public import SystemPackage

/// The one filter between text that others wrote and whatever shows it: a terminal, a log, a notification, a file.
///
/// File names, commit messages, user ids of keys and the words of servers can hold sequences that move the cursor,
/// characters that reorder or hide what is around them, and line breaks that forge a line of our own. Each of these
/// characters becomes `\u{HEX}`, so that they are seen and can be told apart; everything else stays as it is. Printers
/// apply it, once; callers hand over what they have.
public enum VisibleText {
    /// `text` on one line, every character of it visible.
    ///
    /// A backslash stays a backslash unless it would read as the beginning of such an escape: then it is one itself
    /// (`\u{5C}`), so that no text looks like another one's escape.
    public static func line(_ text: String) -> String {
        // Nearly everything that is printed.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) { return text }
        var result = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        let scalars = text.unicodeScalars
        var index = scalars.startIndex
        while index < scalars.endIndex {
            let scalar = scalars[index]
            let isEscape = scalar == "\\" && scalars[index...].starts(with: "\\u{".unicodeScalars)
            if isEscape || isHidden(scalar, after: previous) {
                result.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
            previous = scalar
            index = scalars.index(after: index)
        }
        return String(result)
    }

    /// As `line`, but cut to at most so many characters, with `…` at its end: servers talk without end.
    public static func line(_ text: String, atMost limit: Int) -> String {
        let visible = line(String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit + 1))))
        return visible.count <= limit ? visible : visible.prefix(max(0, limit - 1)) + "…"
    }

    /// `text` cut to at most so many characters, with `…` at its end, and not filtered: for a part of a sentence that a
    /// printer filters as a whole.
    public static func cut(_ text: String, atMost limit: Int) -> String {
        let start = String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit + 1)))
        return start.unicodeScalars.count <= limit ? start : String(start.unicodeScalars.dropLast(2)) + "…"
    }

    /// JSON that is printed: what `line` would make visible becomes `\uXXXX`, which every reader of JSON undoes.
    ///
    /// - Parameter json: valid JSON on one line; there such characters are in strings only.
    public static func json(_ json: String) -> String {
        if json.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return json }
        var result = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            guard isHidden(scalar, after: nil) else {
                result.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16, uppercase: true)
                let padding = String(repeating: "0", count: 4 - digits.count)
                result.append(contentsOf: "\\u\(padding)\(digits)".unicodeScalars)
            }
        }
        return String(result)
    }

    /// The text of a secret for a terminal: as `line`, but its line breaks and tabs stay, a backslash is a backslash, as a
    /// password is typed from what is seen, and a byte that is no UTF-8 becomes `\xHEX`.
    public static func text(_ bytes: UnsafeRawBufferPointer) throws(Errno) -> SecretBytes {
        var result = SecretBuffer()
        var previous: Unicode.Scalar?
        // What needs no change is copied in one piece.
        var (start, end) = (0, 0)
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while true {
            let shown: String
            let length: Int
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput:
                try result.write(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), at: result.count)
                return result.freeze()
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                defer { previous = scalar }
                guard scalar != "\n", scalar != "\t", isHidden(scalar, after: previous) else {
                    end += encoded.count
                    continue
                }
                (shown, length) = (escape(scalar), encoded.count)
            case .error(let count):
                length = count
                shown = bytes[end..<(end + count)].map { "\\x" + String($0, radix: 16, uppercase: true) }
                    .joined()
                previous = nil
            }
            try result.write(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), at: result.count)
            var text = shown
            let failure: Errno? = text.withUTF8 { shown in
                do throws(Errno) {
                    try result.write(UnsafeRawBufferPointer(shown), at: result.count)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
            end += length
            start = end
        }
    }

    /// Whether a character controls its surroundings or is not seen: controls, format characters (bidirectional ones,
    /// zero width, tags), line and paragraph separators, what Unicode lets fonts draw as nothing, the blank pattern of
    /// Braille, and private characters, which mean whatever a font makes of them.
    private static func isHidden(_ scalar: Unicode.Scalar, after previous: Unicode.Scalar?) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: return true
        default: break
        }
        if scalar == "\u{2800}" { return true }
        guard scalar.properties.isDefaultIgnorableCodePoint else { return false }
        // ❤️ is two characters: the second one asks for the coloured form of the first.
        let choosesForm = scalar.value == 0xFE0E || scalar.value == 0xFE0F
        return !(choosesForm && previous?.properties.isEmoji == true && previous?.isASCII == false)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    }
}
