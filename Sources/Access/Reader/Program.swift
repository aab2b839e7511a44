import Glibc
import System
import SystemPackage

/// The program that a process runs, as the kernel knows it: the file, not what the process says of itself. Of a script it is
/// the interpreter.
public struct Program: Sendable, Hashable, Codable {
    /// Where the file was when it was started.
    public var path: String
    /// What tells this state of the file from another: device, inode, size and the time of its last change.
    public var fingerprint: String
    /// Whether the file at `path` is still the one that runs: it may have been replaced or removed, the process may see other
    /// files there than we do, or it may be one that says itself what it runs.
    public var isAtItsPath: Bool

    /// A program of these parts.
    public init(path: String, fingerprint: String, isAtItsPath: Bool = true) {
        (self.path, self.fingerprint, self.isAtItsPath) = (path, fingerprint, isAtItsPath)
    }

    /// nil where it may not be known: the process is another user's, or protected.
    init?(of folder: borrowing ProcessFolder) {
        guard let target = folder.target(of: "exe"), let facts = folder.targetFacts(of: "exe") else {
            return nil
        }
        let mark = " (deleted)"
        var path = String(decoding: target, as: UTF8.self)
        fingerprint = Self.fingerprint(facts)
        let lies = Self.lies(facts, at: path)
        if !lies, path.hasSuffix(mark) { path.removeLast(mark.count) }
        isAtItsPath = lies && Self.isInOurUserNamespace(folder)
        self.path = path
    }

    /// The last part of the path.
    public var name: String { FilePath(path).lastComponent?.string ?? path }

    /// Whether it is the file that lies at a path now, following links.
    func lies(at other: String) -> Bool {
        guard let facts = FilePath(other).targetFacts() else { return false }
        return Self.fingerprint(facts) == fingerprint
    }

    private static func lies(_ facts: stat, at path: String) -> Bool {
        guard let there = FilePath(path).targetFacts() else { return false }
        return there.st_dev == facts.st_dev && there.st_ino == facts.st_ino
    }

    /// Whoever has capabilities in a user namespace, as each process has in one that it makes, gives itself another executable
    /// there (PR_SET_MM_MAP of prctl(2)), which the kernel then tells.
    private static func isInOurUserNamespace(_ folder: borrowing ProcessFolder) -> Bool {
        guard let own = ownUserNamespace, let facts = folder.targetFacts(of: "ns/user") else { return false }
        return own.st_dev == facts.st_dev && own.st_ino == facts.st_ino
    }

    /// A process with several threads cannot change it.
    private static let ownUserNamespace = FilePath("/proc/self/ns/user").targetFacts()

    static func fingerprint(_ facts: stat) -> String {
        "\(facts.st_dev):\(facts.st_ino):\(facts.st_size):\(facts.st_ctim.tv_sec).\(facts.st_ctim.tv_nsec)"
    }
}
