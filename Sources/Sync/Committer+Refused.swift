import Git
import Stores
import Synchronization
import System
import SystemPackage

/// What no other machine would take from a branch is saved and not committed: the whole branch would be refused for it,
/// there and, after a clone, here. Nor is what lies in the folder of a submodule that is not checked out.
extension Committer {
    /// Takes the files out of a share that the parent does not have and that no commit takes, and remembers those that are
    /// there. libgit2 fails at such a path as a whole, also where nothing is.
    func leaveOutRefused(_ share: inout Share, onto parent: ObjectID?) throws(GitError) {
        var found: [FilePath: Refusal] = [:]
        var gone: Set<FilePath> = []
        var submodules = SubmoduleFolders(share.repository, of: parent)
        for path in share.paths {
            let (reason, isThere, isFolder) = objection(to: path, share.inStore(path))
            // A path that cannot even be asked for is in no branch that git made.
            if let reason {
                guard !isIn(parent, path, share) else { continue }
                if isThere { found[path] = .path(reason) } else { gone.insert(path) }
            } else if let folder = try submodules.folder(around: path) {
                if isThere, !isFolder {
                    found[path] = .submodule(folder: folder, top: share.top)
                } else {
                    gone.insert(path)
                }
            }
        }
        let looked = share.paths.map { share.inStore($0) }
        share.paths.removeAll { found[$0] != nil || gone.contains($0) }
        let places = found.map { (share.inStore($0.key), $0.value) }
        shared.withLock {
            for path in looked { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    /// Remembers which files a look found that no commit takes.
    func note(refused found: [FilePath: Refusal], _ share: Share, _ head: Head) {
        var places: [FilePath: Refusal] = [:]
        for (path, reason) in found {
            if case .branch(_, _, let commit?) = head, isIn(commit, path, share) { continue }
            places[share.inStore(path)] = reason
        }
        let before = shared.withLock { Array($0.refused.keys) }
            .filter { store.repositories.around($0) == share.nested }
        shared.withLock {
            for path in before { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    /// Which of these files, relative to the repository, a commit leaves out.
    func refused(
        _ paths: [FilePath], _ repository: Repository, onto parent: ObjectID?
    ) throws(GitError) -> Set<FilePath> {
        var submodules = SubmoduleFolders(repository, of: parent)
        var found: Set<FilePath> = []
        for path in paths {
            if objection(to: path, path).reason != nil {
                found.insert(path)
            } else if try submodules.folder(around: path) != nil {
                found.insert(path)
            }
        }
        return found
    }

    private func isIn(_ commit: ObjectID?, _ path: FilePath, _ share: Share) -> Bool {
        commit.flatMap { try? share.repository.item(at: path, in: $0) } != nil
    }

    private func objection(
        to path: FilePath, _ inStore: FilePath
    ) -> (reason: String?, isThere: Bool, isFolder: Bool) {
        do throws(Errno) {
            let status = try store.root.statusIfPresent(of: inStore)
            let isLink = status?.kind == .symbolicLink
            let reason = Repository.objection(toCommitting: path, isLink: isLink)
            return (reason, status != nil, status?.kind == .directory)
        } catch {
            let reason = Repository.objection(toCommitting: path, isLink: false)
            return (reason, error == .fileNameTooLong, false)
        }
    }
}

extension Committer.Shared {
    /// What `status` says of the files that no commit takes, each a sentence without a full stop.
    var refusedSentences: [String] {
        var paths: [String] = []
        var submodules: [Refusal: [FilePath]] = [:]
        for (path, refusal) in refused.sorted(by: { $0.key.string < $1.key.string }) {
            switch refusal {
            case .path(let reason): paths.append("\(VisibleText.cut(path.string, atMost: 100)) \(reason)")
            case .submodule: submodules[refusal, default: []].append(path)
            }
        }
        var sentences: [String] = []
        if !paths.isEmpty {
            sentences.append(
                "saved but not committed, because no other machine would take it: " + Self.listed(paths))
        }
        for case (.submodule(let folder, let top), let files) in submodules {
            let names = files.map { $0.extension == "gpg" ? String($0.string.dropLast(4)) : $0.string }
            let name = ShellWord.quoted(folder.string)
            sentences.append(
                "saved but not committed, because the submodule \(folder) is not checked out: "
                    + Self.listed(names.map { VisibleText.cut($0, atMost: 100) })
                    + "; move that away, run git submodule update --init \(name) in \(top), and move it back")
        }
        return sentences.sorted()
    }

    private static func listed(_ names: [String]) -> String {
        names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", and \(names.count - 5) more" : "")
    }
}
