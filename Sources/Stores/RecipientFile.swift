/// A `.gpg-id` file, read as pass reads it: one recipient a line, `#` starts a comment, white space around a line
/// and empty lines do not count, a carriage return is white space.
public struct RecipientFile: Sendable, Equatable {
    /// The whole text.
    public private(set) var text: String

    /// Each recipient as it is written: key id, fingerprint, user id, address or gpg group; maybe with `!`.
    public var lines: [String] {
        text.split(whereSeparator: \.isNewline).compactMap { Self.recipient(in: $0) }
    }

    /// The bytes of the file.
    public var bytes: [UInt8] { Array(text.utf8) }

    /// Takes the bytes of a file; nil when they are not UTF-8.
    public init?(parsing bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }

    /// Takes the text of a file.
    public init(_ text: String) {
        self.text = text
    }

    /// A file of these lines and nothing else, as `pass init` writes it.
    public init(lines: [String]) {
        text = lines.map { $0 + "\n" }.joined()
    }

    /// With one more recipient at the end; comments and everything else stay.
    public func adding(_ line: String) -> RecipientFile {
        let isOpen = text.last.map { !$0.isNewline } ?? false
        return RecipientFile(text + (isOpen ? "\n" : "") + line + "\n")
    }

    /// Without the lines whose recipient `isGone` picks; comments and everything else stay.
    public func removing(_ isGone: (String) -> Bool) -> RecipientFile {
        var kept = ""
        var rest = text[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(where: \.isNewline).map { rest.index(after: $0) } ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...]
            if let recipient = Self.recipient(in: line), isGone(recipient) { continue }
            kept += line
        }
        return RecipientFile(kept)
    }

    private static func recipient(in line: Substring) -> String? {
        let uncommented = line.prefix { $0 != "#" }
        guard let first = uncommented.firstIndex(where: { !$0.isWhitespace }),
            let last = uncommented.lastIndex(where: { !$0.isWhitespace })
        else { return nil }
        return String(uncommented[first...last])
    }
}
