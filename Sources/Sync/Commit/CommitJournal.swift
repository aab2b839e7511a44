import Git
import Glibc
import System
import SystemPackage

/// A note in the git folder that a commit of ours is on its way: written before the index moves, removed when the
/// branch has followed.
///
/// After a crash it tells which paths of the index may be ahead of the branch, and what of it lies about there
/// is ours. The note is locked (flock) by the process that works; one that can be locked was left behind.
final class CommitJournal {
    private static let name: FilePath.Component = "passdir-commit"
    /// Bytes of a note: longer ones are not ours.
    private static let limit = 64 << 20

    /// The paths that are about to be committed, or that a process which no longer runs was about to commit.
    let paths: [FilePath]
    private let file: FilePath
    /// Locked for as long as it lives, and no longer: mending that fails must leave the note to the next try.
    private let descriptor: OwnedDescriptor

    /// Why a note cannot be written.
    enum Refusal: Error {
        /// Another process commits to this repository right now.
        case busy
        /// The note of a process that no longer runs is there: it is mended first.
        case left
        case failed(Errno)
    }

    /// Notes the paths, relative to the top of the repository. Durable on return.
    init(_ paths: [FilePath], gitDirectory: FilePath) throws(Refusal) {
        file = gitDirectory.appending(Self.name)
        self.paths = paths
        descriptor = try OwnedDescriptor(
            opening: file, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600, failure: Refusal.failed)
        try rethrowing(descriptor.lock()) { $0 == .wouldBlock ? Refusal.busy : .failed($0) }
        // Removed by its owner between our open and our lock.
        guard let facts = try? descriptor.facts(), facts.st_nlink > 0 else { throw .busy }
        // Its writer died after the last look for such a note: only under the lock nobody else can write one.
        guard Self.paths(in: descriptor.raw, facts).isEmpty else { throw .left }
        try rethrowing(write(), Refusal.failed)
    }

    private func write() throws(Errno) {
        guard ftruncate(descriptor.raw, 0) == 0 else { throw .last }
        try descriptor.writeAll(paths.flatMap { $0.bytes + [0] })
        try descriptor.synchronize()
    }

    /// The note of a process that no longer runs, locked; nil when there is nothing to mend.
    init?(leftIn gitDirectory: FilePath) {
        file = gitDirectory.appending(Self.name)
        guard let opened = try? OwnedDescriptor(opening: file, O_RDONLY | O_NOFOLLOW) else { return nil }
        descriptor = opened
        guard (try? descriptor.lock()) != nil, let facts = try? descriptor.facts(),
            facts.st_nlink > 0, facts.kind == .regular, facts.st_size <= Self.limit
        else { return nil }
        paths = Self.paths(in: descriptor.raw, facts)
    }

    /// The commit is whole, or what was left is mended.
    func remove() {
        file.unlink()
    }

    /// What a note names; nothing where it is none of ours.
    private static func paths(in descriptor: CInt, _ facts: stat) -> [FilePath] {
        guard facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= limit else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        let count = max(0, pread(descriptor, &bytes, bytes.count, 0))
        // A path without its NUL was not written to its end; nothing had been done then.
        let end = bytes[..<count].lastIndex(of: 0) ?? 0
        return bytes[..<end].split(separator: 0).map { FilePath(bytes: $0) }
    }

    /// Removes the files of a merge that did not reach their places.
    static func removeLeftFiles(top: FilePath) {
        for name in DirectoryStream.names(in: top)
        where name.hasPrefix(".passdir-") && name.contains("-m") && name.hasSuffix(".tmp") {
            top.appending(name).unlink()
        }
    }
}
