import Glibc
import System
import SystemPackage

/// gpg's configuration files, as far as they could change what an encryption or a decryption gives.
///
/// gpg reads them, not we: they are looked through for anything that is not known to make no difference. Such a
/// thing, known or not, leaves encrypting to gpg.
enum ConfigurationFiles {
    /// What is to be done without gpg.
    enum Work { case encryption, decryption }

    private static let encrypting: Set<String> = [
        "cipher-algo", "compress-algo", "compress-level", "encrypt-to", "encrypt-to-default-key", "force-mdc",
        "group", "hidden-encrypt-to", "hidden-recipient", "no-encrypt-to", "personal-cipher-preferences",
        "recipient", "set-filename", "textmode", "throw-keyids",
    ]

    /// The files that gpg of this version may read: the most specific name wins, of each all are looked at.
    /// - Parameter systemFolder: gpg's folder of settings for all users.
    static func paths(home: FilePath, systemFolder: FilePath, version: String) -> [String] {
        let parts = version.split(separator: ".")
        let suffixes = [""] + parts.indices.map { "-" + parts[...$0].joined(separator: ".") }
        let names = suffixes.map { "gpg.conf\($0)" } + ["common.conf"]
        return [home, systemFolder].flatMap { folder in names.map { folder.appending($0).string } }
    }

    /// Whether no file says anything that matters. A file that is there and cannot be read may say anything.
    static func areHarmless(_ paths: [String], _ work: Work = .encryption) -> Bool {
        paths.allSatisfy { path in
            guard access(path, F_OK) == 0 || errno != ENOENT else { return true }
            guard let text = content(path) else { return false }
            return isHarmless(text, work)
        }
    }

    /// Whether a file's text says nothing that matters.
    static func isHarmless(_ text: [UInt8], _ work: Work = .encryption) -> Bool {
        text.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
            let words = String(decoding: line, as: UTF8.self)
                .split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" }).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { return true }
            let option = first.hasPrefix("--") ? String(first.dropFirst(2)) : first
            switch work {
            case .encryption: return isHarmless(option, words.dropFirst())
            // What asks for a passphrase matters; whom and how gpg encrypts does not.
            case .decryption:
                return option != "pinentry-mode" && (harmless.contains(option) || encrypting.contains(option))
            }
        }
    }

    private static func isHarmless(_ option: String, _ arguments: ArraySlice<String>) -> Bool {
        switch option {
        case "cipher-algo", "personal-cipher-preferences":
            // Commas may part the words, too.
            let first = arguments.first?.split(separator: ",").first?.uppercased() ?? ""
            return ["AES256", "S9"].contains(first)
        case "group":
            // gpg expands a fingerprint, too, when a group has its name.
            let name = arguments.joined(separator: " ").prefix { $0 != "=" && $0 != " " && $0 != "!" }
            return !name.isEmpty && !name.utf8.allSatisfy(Fingerprint.isHexadecimal)
        default: return harmless.contains(option)
        }
    }

    /// What concerns signing, listing, printing, searching, key servers and passphrases only; and what gpgme's own
    /// options override: it asks for no compression, no more recipients and trust in whoever is named. Armour is
    /// taken off.
    private static let harmless: Set<String> = [
        "armor", "no-armor", "auto-key-locate", "no-auto-key-locate", "auto-key-retrieve",
        "no-auto-key-retrieve", "cert-digest-algo", "charset", "comment", "default-key",
        "default-keyserver-url",
        "default-preference-list", "default-recipient", "default-recipient-self", "digest-algo",
        "display-charset", "emit-version", "fixed-list-mode", "keyid-format", "keyserver",
        "keyserver-options",
        "list-options", "local-user", "no-comments", "no-emit-version", "no-greeting", "no-symkey-cache",
        "personal-compress-preferences", "personal-digest-preferences", "pinentry-mode", "quiet",
        "require-cross-certification", "s2k-cipher-algo", "s2k-count", "s2k-digest-algo", "s2k-mode",
        "trust-model", "use-agent", "utf8-strings", "verify-options", "with-fingerprint", "with-keygrip",
    ]

    private static func content(_ path: String) -> [UInt8]? {
        // More than anybody writes by hand is left to gpg.
        try? OwnedDescriptor(opening: FilePath(path), O_RDONLY | O_NONBLOCK).readAll(atMost: 65_536)
    }
}
