/// The lines of a `.gpg-id` file, read as pass reads them: one recipient a line, `#` starts a comment, white space
/// around a line and empty lines do not count, a carriage return is white space.
struct RecipientFile: Sendable, Equatable {
    /// Each recipient as it is written: key id, fingerprint, user id, address or gpg group; maybe with `!`.
    let lines: [String]

    /// Parses the bytes of the file; nil when they are not UTF-8.
    init?(parsing bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }

    init(_ text: String) {
        lines = text.split(whereSeparator: \.isNewline).compactMap { line in
            let uncommented = line.prefix { $0 != "#" }
            guard let first = uncommented.firstIndex(where: { !$0.isWhitespace }),
                let last = uncommented.lastIndex(where: { !$0.isWhitespace })
            else { return nil }
            return String(uncommented[first...last])
        }
    }
}
