import Git
import Stores
import System
import SystemPackage

/// What a commit says, in the words of pass.
struct CommitMessage: Equatable {
    /// One sentence a change, in the order of the changes.
    let lines: [String]
    /// Whether each rename is told.
    let tellsAll: Bool

    /// The message for changes of a tree. Paths are relative to the store, as pass names secrets.
    init(_ changes: [(path: FilePath, kind: TreeChange.Kind)], renames: [PendingChanges.Rename]) {
        var open = changes
        var lines: [String] = []
        var tellsAll = true
        for rename in renames {
            // What has its former name now may be another one, unless that was renamed to it.
            let isTaken = renames.contains { $0.to == rename.from }
            let isGone = open.contains {
                ($0.kind == .removed || $0.kind == .modified && !isTaken) && $0.path.starts(with: rename.from)
            }
            let isThere = open.contains { $0.kind != .removed && $0.path.starts(with: rename.to) }
            guard isGone, isThere else {
                tellsAll = false
                continue
            }
            open = open.compactMap { change in
                if change.path.starts(with: rename.from) {
                    return change.kind == .removed ? nil : (change.path, .added)
                }
                return change.kind != .removed && change.path.starts(with: rename.to) ? nil : change
            }
            lines.append("Rename \(Self.name(rename.from)) to \(Self.name(rename.to)).")
        }
        for change in open {
            let name = Self.name(change.path)
            // A list of recipients is no password.
            let isList = change.path.lastComponent == Store.recipientFileName
            switch change.kind {
            case .added where isList: lines.append("Add \(name) to store.")
            case .modified where isList: lines.append("Edit \(name) using passdir.")
            case .added: lines.append("Add given password for \(name) to store.")
            case .modified: lines.append("Edit password for \(name) using passdir.")
            case .removed: lines.append("Remove \(name) from store.")
            }
        }
        self.lines = lines
        self.tellsAll = tellsAll
    }

    /// A message of one sentence.
    init(line: String) {
        (lines, tellsAll) = ([line], true)
    }

    /// One change: its sentence. Several: their number, then a list.
    var text: String {
        if lines.count == 1 { return lines[0] + "\n" }
        return Self.subject(of: lines.count) + "\n\n" + lines.map { "- \($0)\n" }.joined()
    }

    private static func subject(of count: Int) -> String { "Change \(count) secrets." }

    /// Whether a commit's first line is that of a message about several changes, so that it says nothing of one of them.
    static func isOfSeveral(_ subject: Substring) -> Bool {
        Int(subject.dropFirst(7).prefix { $0.isASCII && $0.isNumber }).map { Self.subject(of: $0) == subject }
            ?? false
    }

    /// What the log of HEAD says of a commit all of whose changes came through the mount or a command, so that it tells of each rename.
    static let toldReason = "commit: "
    /// What it says of another one: a look at the working tree has found a part of its changes, or a rename left no trace.
    static let foundReason = "commit (found): "

    /// Whether a message is of changes, as made here.
    static func isOfChanges(_ message: String) -> Bool {
        let lines = message.split(separator: "\n")
        guard let subject = lines.first, isOfSeveral(subject) else { return false }
        return lines.dropFirst().allSatisfy { line in
            ["- Add ", "- Edit ", "- Remove ", "- Rename "].contains { line.hasPrefix($0) }
        }
    }

    /// Whether a commit, by what it says, has only re-encrypted what was there: as ours and those of pass begin.
    static func isReencryption(_ message: String) -> Bool { message.hasPrefix("Reencrypt password store ") }

    /// The message for what was restored to a commit.
    static func restoring(_ name: FilePath, asOf day: some StringProtocol, _ commit: String) -> String {
        "Restore \(name) as of \(day) (\(commit.prefix(10)))."
    }

    /// The commit to which another one, by what it says, restored something: the beginning of its name.
    static func restoredCommit(_ message: String) -> String? {
        let line = message.prefix { !$0.isNewline }
        guard line.hasPrefix("Restore "), line.hasSuffix(")."), let start = line.lastIndex(of: "(") else {
            return nil
        }
        let name = line[line.index(after: start)...].dropLast(2)
        return name.count == 10 && name.allSatisfy { $0.isASCII && $0.isHexDigit } ? String(name) : nil
    }

    /// How pass names a secret: its path without `.gpg`.
    private static func name(_ path: FilePath) -> String {
        path.withoutSuffix.string
    }
}
