import Glibc
import System
public import SystemPackage

extension Repository {
    /// Has git overlook what a pattern matches, in this clone alone: adds it to `info/exclude` (gitignore(5)) unless it is there.
    /// `git add -A`, `git clean` and `git stash -u` then leave such files alone.
    /// - Parameters:
    ///   - pattern: a line of its own, without white space around it.
    ///   - reason: what the user who opens the file reads above it; one line.
    /// - Throws: where the file cannot be written, or is none that git would read.
    public func exclude(_ pattern: String, because reason: String) throws(Errno) {
        let folder = commonDirectory.appending("info")
        try folder.makeFolder(mode: 0o777)
        // A pipe must not be waited for, and what a link leads to is kept for several repositories.
        let file = try OwnedDescriptor(
            opening: folder.appending("exclude"), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
            mode: 0o666)
        let facts = try file.facts()
        guard facts.kind == .regular, facts.st_size <= RuleFiles.limit else { throw .invalidArgument }
        let content = try file.readAll(atMost: RuleFiles.limit)
        guard
            !content.split(separator: UInt8(ascii: "\n")).contains(where: { $0.elementsEqual(pattern.utf8) })
        else { return }
        let isWhole = content.last.map { $0 == UInt8(ascii: "\n") } ?? true
        // One write at the end of the file: what another program adds meanwhile stays.
        try file.writeAll(Array("\(isWhole ? "" : "\n")# \(reason)\n\(pattern)\n".utf8))
    }
}
