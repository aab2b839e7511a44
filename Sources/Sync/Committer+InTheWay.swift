import Git
import Glibc
import Stores
import Synchronization
import SystemPackage

/// What lies in the working tree where the remote has something else, and is not ours to commit.
///
/// Edits that nobody has committed become part of our history before a merge. That holds for what git has already, for
/// secrets, lists and links, which the store commits anyway. Anything else was never to leave this machine: others name
/// the paths of what they push.
extension Committer {
    /// What a merge waits for.
    struct Obstacle: Sendable {
        /// Absolute.
        var path: FilePath
        /// What is said of it.
        var message: String
    }

    /// What `status` tells of files goes with them: an ignored secret that was removed, an obstacle that was moved away.
    nonisolated func forgetWhatIsGone() {
        let (left, obstacle) = shared.withLock { (Array($0.ignored) + $0.refused.keys, $0.obstacle) }
        let gone = left.filter { path in
            do throws(Errno) {
                return try store.root.statusIfPresent(of: path) == nil
            } catch {
                return error == .notDirectory
            }
        }
        if !gone.isEmpty {
            shared.withLock { shared in
                shared.ignored.subtract(gone)
                for path in gone { shared.refused[path] = nil }
            }
        }
        guard let obstacle, Self.kind(obstacle.path) == nil else { return }
        let isWaiting = shared.withLock { shared in
            shared.obstacle = nil
            guard shared.syncError?.contains(obstacle.message) == true else { return false }
            shared.syncError = nil
            return true
        }
        if isWaiting { Task { await self.synchronize(.everything) } }
    }

    /// Throws what a commit would have to hold and must not, for the paths at which something else lies than our branch
    /// says.
    func checkNothingInTheWay(
        of paths: [FilePath], ours: ObjectID?, _ share: Share
    ) throws(GitError) {
        for path in paths {
            guard let file = try obstacle(at: path, ours, share) else { continue }
            let message =
                "\(share.inStore(file)) lies here and is not in git, and the remote has a file that needs its place: "
                + "move it away, or commit it with git"
            shared.withLock { $0.obstacle = Obstacle(path: share.top.pushing(file), message: message) }
            throw GitError(code: .invalid, message: message)
        }
    }

    private func obstacle(at path: FilePath, _ ours: ObjectID?, _ share: Share) throws(GitError) -> FilePath?
    {
        // A file or link where a folder is needed is what lies in the way of all that goes below.
        var place = FilePath()
        for component in path.components {
            place.append(component)
            switch Self.kind(share.top.pushing(place)) {
            case S_IFDIR:
                // The files of a repository inside are that one's.
                if Self.kind(share.top.pushing(place).appending(".git")) != nil { return place }
            case nil: return nil
            case let kind?: return try isOurs(place, kind, ours, share) ? nil : place
            }
        }
        return try obstacle(below: path, ours, share)
    }

    private func obstacle(
        below folder: FilePath, _ ours: ObjectID?, _ share: Share
    ) throws(GitError) -> FilePath? {
        let entries: [DirectoryEntry]
        do {
            entries = try Root(path: share.top).entries(of: folder)
        } catch {
            throw GitError(code: .other, message: "\(share.inStore(folder)) cannot be listed: \(error)")
        }
        if entries.contains(where: { $0.name == ".git" }) { return folder }
        for entry in entries {
            let path = folder.appending(entry.name)
            guard let kind = Self.kind(share.top.pushing(path)) else { continue }
            if kind == S_IFDIR {
                if let found = try obstacle(below: path, ours, share) { return found }
            } else if try !isOurs(path, kind, ours, share) {
                return path
            }
        }
        return nil
    }

    private func isOurs(
        _ path: FilePath, _ kind: mode_t, _ ours: ObjectID?, _ share: Share
    ) throws(GitError) -> Bool {
        guard kind == S_IFREG || kind == S_IFLNK else { return false }
        if let ours, try share.repository.item(at: path, in: ours) != nil { return true }
        let name = path.lastComponent?.string ?? ""
        let isCommitted = name.hasSuffix(".gpg") || name == "\(Store.recipientFileName)" || kind == S_IFLNK
        return isCommitted && !share.repository.ignores(path)
    }

    private nonisolated static func kind(_ path: FilePath) -> mode_t? {
        var facts = stat()
        return path.withPlatformString { lstat($0, &facts) } == 0 ? facts.st_mode & S_IFMT : nil
    }
}
