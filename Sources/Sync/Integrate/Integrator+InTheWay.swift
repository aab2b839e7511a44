import Git
import Glibc
import Stores
import System
import SystemPackage

/// What lies in the working tree where the remote has something else, and is not ours to commit.
///
/// Edits that nobody has committed become part of our history before a merge. That holds for what git has already, for
/// secrets, lists and links, which the store commits anyway. Anything else was never to leave this machine: others name
/// the paths of what they push.
extension Integrator {
    /// What a merge waits for.
    struct Obstacle: Sendable {
        /// Absolute.
        var path: FilePath
        /// What is said of it.
        var message: String
    }

    /// Throws what a commit would have to hold and must not, for the paths at which something else lies than our branch
    /// says.
    func checkNothingInTheWay(
        of paths: [FilePath], ours: ObjectID?, _ part: RepositoryPart
    ) throws(GitError) {
        for path in paths {
            guard let file = try obstacle(at: path, ours, part) else { continue }
            let message = complaint(of: file, part)
            state.withLock { $0.obstacle = Obstacle(path: part.top.pushing(file), message: message) }
            throw GitError(code: .invalid, message: message)
        }
    }

    private func complaint(of file: FilePath, _ part: RepositoryPart) -> String {
        let name = VisibleText.cut(part.inStore(file).string, atMost: 200)
        let needed = "and the remote has a file by that name: move it away, or"
        let kind = part.top.pushing(file).kindOnDisk
        guard kind == S_IFREG || kind == S_IFLNK, part.repository.ignores(file) else {
            return "\(name) exists here but is not in git, \(needed) commit it with git"
        }
        // `git add` by itself refuses it, and takes some names for more than they say.
        let text = file.string
        let isPlain = text.first.map { !"-:".contains($0) } == true && !text.contains { "*?[\\".contains($0) }
        let word = ShellWord.quoted(isPlain ? text : ":(literal)" + text)
        return
            "\(name) exists here but git ignores it, \(needed) run git add -f \(word) in \(part.top) and commit it"
    }

    // MARK: secrets that git ignores

    /// The secrets among these paths that git ignores, each with a name beside it that git ignores as well.
    ///
    /// Whoever pushes can make git ignore secrets, and push some of their names. To commit such a secret first could give it
    /// to others against the user's word, for the rule may be the user's, too. Nor would it stay here under a name that
    /// git does not ignore.
    func hiddenSecrets(
        at paths: [FilePath], ours: ObjectID?, _ part: RepositoryPart
    ) throws(GitError) -> [FilePath: FilePath] {
        var hidden: [FilePath: FilePath] = [:]
        let now = Int64(time(nil))
        for path in paths where path.isSecretName {
            guard part.top.pushing(path).kindOnDisk == S_IFREG, part.repository.ignores(path) else {
                continue
            }
            if let ours, try part.repository.item(at: path, in: ours) != nil { continue }
            var submodules = SubmoduleFolders(part.repository, of: ours)
            if try submodules.folder(around: path) != nil { continue }
            let other = (0..<1000).lazy.map { ConflictName.path(beside: path, at: now, attempt: $0) }
                .first { part.top.pushing($0).kindOnDisk == nil }
            if let other, part.repository.ignores(other) { hidden[path] = other }
        }
        return hidden
    }

    /// Gives each of these secrets its other name: the remote's takes its place, as in every merge, and ours is told as
    /// a conflict.
    func setAside(_ hidden: [FilePath: FilePath], _ part: RepositoryPart) throws(GitError) {
        for (path, other) in hidden.sorted(by: { $0.key.string < $1.key.string }) {
            let (from, to) = (part.inStore(path), part.inStore(other))
            do throws(Errno) {
                try store.root.rename(from, to: to, flags: .noReplace)
                try store.root.synchronizeParent(of: to)
            } catch {
                throw GitError(code: .other, message: "cannot move \(from) aside: \(error)")
            }
            state.withLock {
                $0.ignored.remove(from)
                $0.ignored.insert(to)
            }
            noteConflicts([to])
        }
    }

    private func obstacle(at path: FilePath, _ ours: ObjectID?, _ part: RepositoryPart) throws(GitError)
        -> FilePath?
    {
        // A file or link where a folder is needed is what lies in the way of all that goes below.
        var place = FilePath()
        for component in path.components {
            place.append(component)
            switch part.top.pushing(place).kindOnDisk {
            case S_IFDIR:
                // The files of a repository inside are that one's.
                if part.top.pushing(place).appending(".git").kindOnDisk != nil { return place }
            case nil: return nil
            case let kind?: return try isOurs(place, kind, ours, part) ? nil : place
            }
        }
        return try obstacle(below: path, ours, part)
    }

    private func obstacle(
        below folder: FilePath, _ ours: ObjectID?, _ part: RepositoryPart
    ) throws(GitError) -> FilePath? {
        let entries: [DirectoryEntry]
        do {
            entries = try Root(path: part.top).entries(of: folder)
        } catch {
            throw GitError(code: .other, message: "cannot list \(part.inStore(folder)): \(error)")
        }
        if entries.contains(where: { $0.name == ".git" }) { return folder }
        for entry in entries {
            let path = folder.appending(entry.name)
            guard let kind = part.top.pushing(path).kindOnDisk else { continue }
            if kind == S_IFDIR {
                if let found = try obstacle(below: path, ours, part) { return found }
            } else if try !isOurs(path, kind, ours, part) {
                return path
            }
        }
        return nil
    }

    private func isOurs(
        _ path: FilePath, _ kind: mode_t, _ ours: ObjectID?, _ part: RepositoryPart
    ) throws(GitError) -> Bool {
        guard kind == S_IFREG || kind == S_IFLNK else { return false }
        if let ours, try part.repository.item(at: path, in: ours) != nil { return true }
        var submodules = SubmoduleFolders(part.repository, of: ours)
        guard try submodules.folder(around: path) == nil else { return false }
        return (path.isCommitted || kind == S_IFLNK) && !part.repository.ignores(path)
    }
}
