import SystemPackage

@testable import Stores

extension FuzzTarget {
    /// `.gpg-id`, which everybody who may push can write.
    static let recipientFile = FuzzTarget(
        name: "gpg-id", most: 1 << 14,
        tokens: [
            "#", "\n", "\r\n", "\t", " ", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{a0}", "!", "\u{feff}",
            "0x0123456789ABCDEF", "ann@example.org\n", "\u{301}", "🔑",
        ],
        item: { recipients(&$0) },
        read: { input, random in try readRecipients(input, &random) })

    private static func recipients(_ random: inout FuzzRandom) -> [UInt8] {
        var text = ""
        for _ in 0..<random.below(8) {
            switch random.below(7) {
            case 0: text += "# " + random.pick(["all of us", "", "#", "ann@example.org"])
            case 1: text += "ann@example.org"
            case 2: text += "  Bob <bob@example.org>\t# the other one"
            case 3: text += ""
            case 4: text += "0x" + hexadecimal(8, &random)
            default: text += hexadecimal(20, &random) + random.pick(["", "!", " "])
            }
            text += random.pick(["\n", "\n", "\n", "\r\n", "\n\n"])
        }
        return Array(text.utf8)
    }

    static func hexadecimal(_ octets: Int, _ random: inout FuzzRandom) -> String {
        random.bytes(octets).map { String(Int($0) + 0x100, radix: 16, uppercase: true).dropFirst() }.joined()
    }

    private static func readRecipients(_ input: FuzzInput, _ random: inout FuzzRandom) throws {
        guard let file = RecipientFile(parsing: input.bytes) else {
            try claim(
                String(validating: input.bytes, as: UTF8.self) == nil || input.bytes.contains(0),
                "text is refused")
            return
        }
        try claim(file.bytes == input.bytes, "the bytes do not come back")
        let lines = file.lines
        try claim(lines == reference(input.bytes), "reads \(lines), the reference \(reference(input.bytes))")
        for line in lines {
            try claim(!line.utf8.contains(10) && !line.contains("#"), "'\(line)' is no line")
        }
        try claim(
            file.adding("carol@example.org").lines == lines + ["carol@example.org"], "adding changes others")
        try claim(file.removing { _ in true }.lines.isEmpty, "removing all leaves some")
        try claim(file.removing { _ in false }.bytes == input.bytes, "removing none changes something")
        let gone = lines.isEmpty ? "" : random.pick(lines)
        try claim(
            file.removing { $0 == gone }.lines == lines.filter { $0 != gone }, "removing one changes others")
        try claim(RecipientFile(lines: lines).lines == lines, "lines written are not the lines read")
    }

    /// What pass makes of the file, in a few words: lines end with a newline, `#` starts a comment, spaces and tabs around
    /// do not count; and a carriage return at the end of a line, which pass refuses.
    private static func reference(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.split(separator: "\n").compactMap { line in
            let content = line.prefix { $0 != "#" }
            guard let first = content.firstIndex(where: { $0 != " " && $0 != "\t" }),
                let last = content.lastIndex(where: { $0 != " " && $0 != "\t" && $0 != "\r" })
            else { return nil }
            return String(content[first...last])
        }
    }

    /// The record of whom the user agreed to encrypt to.
    static let recipientRecord = FuzzTarget(
        name: "record", most: 1 << 14,
        tokens: [
            "\0", "\0\0", "agreed\0", "offered\0", "end\0", "\t", "\n", ".gpg-id", "/", "..", "store-1",
            "1\0", "-1\0",
            "99999999999999999999\0", "passdir agreed recipients 2\0", "passdir agreed recipients 3\0",
        ],
        item: { record(&$0) },
        read: { input, _ in try readRecord(input) })

    private static func record(_ random: inout FuzzRandom) -> [UInt8] {
        var entries: [RecordContent.Entry] = []
        for _ in 0..<random.below(6) {
            let folder = random.pick(["", "team/", "a b/c/", "ü/", "x\\y/", "a\tb\nc/"])
            entries.append(
                RecordContent.Entry(
                    kind: random.pick([.agreed, .agreed, .offered]), store: "store-\(random.below(3))",
                    file: FilePath(folder + ".gpg-id"),
                    fingerprints: (0..<random.below(4)).map { _ in hexadecimal(20, &random) }))
        }
        guard random.once(in: 4) else { return RecordContent.bytes(of: entries) }
        // As it was before version 2.
        return Array(
            entries.map { "\($0.store)\t\($0.file)\t\($0.fingerprints.joined(separator: "\t"))\n" }.joined()
                .utf8)
    }

    private static func readRecord(_ input: FuzzInput) throws {
        if case .entries(let entries) = RecordContent.parse(input.bytes) {
            let again = RecordContent.parse(RecordContent.bytes(of: entries))
            try claim(again == .entries(entries), "what was read does not come back")
        }
        let path = try input.write(to: "record")
        let record = RecipientRecord(file: path)
        let others = record.agreement(of: ["store-2"])
        let new = RecordContent.Entry(
            store: "store-1", file: "a\tb\nc/.gpg-id",
            fingerprints: ["0123456789ABCDEF0123456789ABCDEF01234567"])
        try record.update(["store-1"]) { _ in [new] }
        let again = RecipientRecord(file: path)
        try claim(again.agreement(of: ["store-1"]) == .known([new]), "what was agreed does not come back")
        if case .lost = others { return }
        try claim(again.agreement(of: ["store-2"]) == others, "another store's agreement changed")
    }
}
