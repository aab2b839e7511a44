/// What a store may be called: its name is a directory and a git-config subsection.
public enum StoreName {
    /// Why a name cannot be used, as a sentence; nil when it can.
    public static func objection(to name: String) -> String? {
        let problem: String? =
            if name.isEmpty {
                "it is empty"
            } else if name.hasPrefix(".") || name.hasPrefix("-") {
                "it starts with \"\(name.prefix(1))\""
            } else if name.contains("/") {
                "it contains a slash"
            } else if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                "it contains control characters"
            } else if name.utf8.count > 200 {
                "it is longer than 200 bytes"
            } else {
                nil
            }
        return problem.map { "a store cannot be called \"\(name)\" because \($0)" }
    }

    /// A name made of another text: what a store cannot have in its name becomes `-`. Never empty.
    public static func made(from text: String) -> String {
        var name = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    scalar == "/" || scalar.properties.generalCategory == .control ? "-" : scalar
                }))
        while name.hasPrefix(".") || name.hasPrefix("-") { name.removeFirst() }
        while name.utf8.count > 200 { name.removeLast() }
        return name.isEmpty ? "store" : name
    }

    /// Whether two names would be taken for one another: names that differ in case only.
    public static func areAlike(_ one: String, _ other: String) -> Bool {
        one.lowercased() == other.lowercased()
    }
}

/// Random UUIDs (RFC 9562, version 4) without Foundation.
public enum UUIDText {
    /// A new one, in lower case.
    public static func random() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef")
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append("-") }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }
}
