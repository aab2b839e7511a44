/// What keeps a name that others gave to a file or folder from being placed in a working tree.
///
/// Git refuses the names of its own folder and whatever Windows or macOS take for it (CVE-2014-9390, CVE-2019-1352);
/// here the names of our own temporary files and control folders come to that.
enum IncomingName {
    /// NAME_MAX of Linux, in bytes.
    private static let longest = 255
    /// What the names of our own files begin with: no store shows or commits them.
    private static let ours = ".passdir-"

    /// Whether a file of this name is read as a list of recipients, or as the signature of one.
    static func isList(_ name: [UInt8]) -> Bool {
        StoreFile.lists.contains(String(decoding: name, as: UTF8.self))
    }

    /// Why an entry of this name cannot be placed, in words that follow its path; nil when it can.
    static func objection(_ name: [UInt8], isLink: Bool = false, isTree: Bool = false) -> String? {
        if name.isEmpty { return "has no name" }
        if name.count > longest { return "has a name of \(name.count) bytes" }
        if name == Array(".".utf8) || name == Array("..".utf8) || name.contains(UInt8(ascii: "/")) {
            return "leads out of its folder"
        }
        // A backslash parts folders elsewhere.
        for part in name.split(separator: UInt8(ascii: "\\")) {
            let plain = plain(part)
            if plain == ".git" || isShort(plain) { return "has a name reserved for git" }
            if plain.hasPrefix(ours) { return "has a name reserved for passdir" }
            guard isLink || isTree else { continue }
            let kind = isLink ? "symbolic link" : "folder"
            if RuleFiles.names.contains(plain) || isLink && isShortRule(plain) {
                return "is a \(kind) where git has a file of its own"
            }
            if StoreFile.lists.contains(plain) {
                return "is a \(kind) where a recipient list belongs"
            }
        }
        return nil
    }

    /// The name as a file system takes it that ignores case, trailing dots and blanks, what follows a colon, and
    /// characters that nobody sees.
    static func plain(_ name: ArraySlice<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: name.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).unicodeScalars
        where !isIgnored(scalar) {
            text.append(scalar)
        }
        while let last = text.last, last == "." || last == " " { text.removeLast() }
        return String(text).lowercased()
    }

    /// What HFS+ leaves out when it compares names.
    private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200c...0x200f, 0x202a...0x202e, 0x206a...0x206f, 0xfeff: true
        default: false
        }
    }

    /// What Windows makes of `.gitmodules` and its kind: `gitmod~1` to `gitmod~4`, then `gi7eba~1`, `gi7eb~10` and so on,
    /// as in git's `is_ntfs_dot_generic`.
    private static func isShortRule(_ name: String) -> Bool {
        guard name.utf8.count == 8, let tilde = name.lastIndex(of: "~") else { return false }
        let (start, number) = (name[..<tilde], name[tilde...].dropFirst())
        guard !number.isEmpty, number.allSatisfy(\.isNumber) else { return false }
        return ["gitmod", "gitatt", "gitign"].contains { $0 == start }
            || ["gi7eba", "gi7d29", "gi250a"].contains { $0.hasPrefix(start) }
    }

    /// `git~1`, which Windows makes of `.git`.
    private static func isShort(_ name: String) -> Bool {
        guard name.hasPrefix("git~") else { return false }
        let number = name.dropFirst(4)
        return !number.isEmpty && number.allSatisfy(\.isNumber)
    }
}
