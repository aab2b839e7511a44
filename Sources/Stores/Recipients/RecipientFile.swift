/// A `.gpg-id` file, read as pass reads it: lines end at a line feed and nowhere else, `#` starts a comment, spaces and
/// tabs around a recipient and empty lines do not count.
///
/// Two things that pass refuses are read as they are meant: a carriage return at the end of a line, and a last line
/// without a line feed. Every other byte belongs to the name, also what Unicode calls a line or white space; a NUL,
/// which bash would drop and gpg would stop at, makes the whole file invalid.
public struct RecipientFile: Sendable, Equatable {
    /// The whole text.
    public private(set) var text: String

    /// Each recipient as it is written: key id, fingerprint, user id, address or gpg group; maybe with `!`.
    public var lines: [String] {
        text.utf8.split(separator: Self.lineFeed).compactMap { Self.recipient(in: $0) }
    }

    /// The bytes of the file.
    public var bytes: [UInt8] { Array(text.utf8) }

    /// Takes the bytes of a file; nil when they are not UTF-8 or hold a NUL.
    public init?(parsing bytes: [UInt8]) {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { return nil }
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
        let isOpen = text.utf8.last.map { $0 != Self.lineFeed } ?? false
        return RecipientFile(text + (isOpen ? "\n" : "") + line + "\n")
    }

    /// Without the lines whose recipient `isGone` picks; comments and everything else stay.
    public func removing(_ isGone: (String) -> Bool) -> RecipientFile {
        var kept = ""
        var rest = text.utf8[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: Self.lineFeed).map { rest.index(after: $0) } ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...]
            let content = line.last == Self.lineFeed ? line.dropLast() : line
            if let recipient = Self.recipient(in: content), isGone(recipient) { continue }
            // A line feed is no part of any other scalar, so that a line is whole text.
            kept += String(Substring(line))
        }
        return RecipientFile(kept)
    }

    private static let lineFeed = UInt8(ascii: "\n")

    /// The recipient of a line without its line feed.
    private static func recipient(in line: Substring.UTF8View) -> String? {
        let uncommented = line.prefix { $0 != UInt8(ascii: "#") }
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = uncommented.firstIndex(where: { !isBlank($0) }),
            let last = uncommented.lastIndex(where: { !isBlank($0) && $0 != UInt8(ascii: "\r") }),
            first <= last
        else { return nil }
        return String(Substring(uncommented[first...last]))
    }
}
