import Glibc
import System
import SystemPackage

/// The log of a reference (`logs/refs/heads/main`), a line for each move.
struct ReferenceLog {
    private let file: FilePath
    private let begins: Bool

    /// - Parameter folder: the git directory that holds the reference.
    init(of ref: String, in folder: FilePath, _ repository: Repository) {
        file = folder.appending("logs").pushing(FilePath(ref))
        begins = Self.begins(ref, repository)
    }

    /// `OLD NEW NAME <EMAIL> TIME ZONE<TAB>WHY`, as git writes it.
    static func line(from old: ObjectID, to new: ObjectID, _ who: Signature, _ why: String) -> [UInt8] {
        let zone = abs(who.offsetMinutes)
        let sign = who.offsetMinutes < 0 ? "-" : "+"
        let digits = String(10_000 + zone / 60 * 100 + zone % 60).dropFirst()
        let words = why.split(whereSeparator: \.isNewline).joined(separator: " ")
        func plain(_ text: String) -> String { text.filter { !"<>\n\0".contains($0) } }
        let name = "\(plain(who.name)) <\(plain(who.email))> \(who.time) \(sign)\(digits)"
        return Array("\(old.hex) \(new.hex) \(name)\t\(words)\n".utf8)
    }

    /// Adds a line, where there is a log or git would begin one. What fails is not told, nor waited for, as by git: the
    /// branch matters more.
    func append(_ line: [UInt8]) {
        if begins { try? file.removingLastComponent().makeFolders(mode: 0o777) }
        let flags = O_WRONLY | O_APPEND | O_NOFOLLOW | (begins ? O_CREAT : 0)
        try? OwnedDescriptor(opening: file, flags, mode: 0o666).writeAll(line)
    }

    /// `core.logAllRefUpdates` (git-config(1)); unset: yes, with a working tree.
    private static func begins(_ ref: String, _ repository: Repository) -> Bool {
        let setting = repository.config("core.logAllRefUpdates")
        if setting?.lowercased() == "always" { return true }
        guard repository.configBool("core.logAllRefUpdates") ?? !repository.isBare else { return false }
        return ref == "HEAD"
            || ["refs/heads/", "refs/remotes/", "refs/notes/"].contains { ref.hasPrefix($0) }
    }
}
