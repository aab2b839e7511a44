import Glibc
import Settings
import System
import SystemPackage

/// A pinentry that runs for this user: gpg-agent opens one prompt at a time, and every other waits for its end.
public struct OpenPrompt: Sendable, Hashable {
    /// Its process.
    public let pid: Int32
    /// The program's name.
    public let name: String
    /// When it began, so that no other process is taken for it.
    private let startTime: UInt64

    private init?(_ pid: Int32) {
        guard let folder = ProcessFolder(pid), let facts = ProcessFacts(of: folder),
            facts.name.hasPrefix("pinentry"), Self.isOurAgent(facts.parent)
        else { return nil }
        (self.pid, name, startTime) = (pid, facts.name, facts.startTime)
    }

    /// Whether a process is the gpg-agent of the keyring in use: one of another has prompts of its own.
    private static func isOurAgent(_ process: Int32) -> Bool {
        guard let folder = ProcessFolder(process), folder.targetFacts(of: ".")?.st_uid == geteuid(),
            let line = folder.bytes(of: "cmdline")
        else { return false }
        let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard words.first?.hasSuffix("gpg-agent") == true else { return false }
        // It is named where it is not the usual one.
        let named = words.firstIndex(of: "--homedir").flatMap { words.dropFirst($0 + 1).first }
        return resolved(named) == resolved(getenv("GNUPGHOME").map { String(cString: $0) })
    }

    private static func resolved(_ home: String?) -> FilePath {
        let path = home.map { FilePath($0) } ?? HomeDirectory.current.appending(".gnupg")
        return (try? path.resolvingLinks()) ?? path
    }

    /// All that run.
    public static func all() -> [OpenPrompt] {
        guard var processes = try? DirectoryStream("/proc") else { return [] }
        var found: [OpenPrompt] = []
        while let entry = try? processes.next() {
            guard let pid = Int32(String(decoding: entry.name, as: UTF8.self)), let prompt = OpenPrompt(pid)
            else { continue }
            found.append(prompt)
        }
        return found
    }

    /// Whether it runs still.
    public var isOpen: Bool { OpenPrompt(pid) == self }
}
