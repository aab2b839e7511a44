import CGit
import Glibc
import System
public import SystemPackage

/// Opening the repository of one working tree, and of no other place.
///
/// libgit2 looks for repositories in the folders above, and takes a folder for a git directory that has `HEAD`, `objects`
/// and `refs` in it, whoever put them there. A git directory's configuration names programs that are run, so the place
/// decides who runs programs: only an entry named `.git`, which no commit can hold, is looked at.
extension Repository {
    /// The repository whose `.git`, a folder or a file that links to one, lies in exactly this folder; nil where there is
    /// no entry of that name.
    /// - Throws: `.untrustedOwner` where the folder, its `.git` or the git directory belong to another user, `.invalid`
    ///   where `.git` is a symbolic link or leads to a git directory that lies among the files of the working tree, or
    ///   the configuration names another working tree or includes a file of this one; and what `open` throws.
    public static func open(workingTree folder: FilePath) throws(GitError) -> Repository? {
        let entry = folder.appending(".git")
        guard let facts = entry.facts() else { return nil }
        switch facts.st_mode & S_IFMT {
        case S_IFDIR, S_IFREG: break
        case S_IFLNK: throw unsafe("\(entry) is a symbolic link, which is not followed")
        default: throw unsafe("\(entry) is neither a folder nor a file")
        }
        guard let top = try? folder.resolvingLinks() else { throw unsafe("\(folder) cannot be entered") }
        try checkOwner(of: top)
        try checkOwner(of: top.appending(".git"))
        let repository = try open(gitDirectory: top.appending(".git"))
        try repository.checkPlace(top)
        return repository
    }

    private func checkPlace(_ top: FilePath) throws(GitError) {
        guard !isBare else {
            throw GitError(code: .unsupported, message: "the repository in \(top) is bare")
        }
        guard let tree = workingDirectory, (try? tree.resolvingLinks()) == top else {
            throw Repository.unsafe(
                "the repository in \(top) belongs to another working tree"
                    + (workingDirectory.map { ", \($0.lexicallyNormalized())" } ?? "")
                    + ": see core.worktree and the link in .git")
        }
        for folder in [gitDirectory, commonDirectory] {
            guard let place = try? folder.resolvingLinks() else { continue }
            if place != top.appending(".git") { try Repository.checkOwner(of: place) }
            guard !Repository.isFile(place, of: top) else {
                throw Repository.unsafe(
                    "the git directory \(place) is among the files of \(top), where others could change it")
            }
        }
        for included in includedFiles() where Repository.isFile(included, of: top) {
            throw Repository.unsafe(
                "its configuration includes \(included), a file of the working tree, which others could change"
            )
        }
    }

    /// The files that the configuration includes, `~` and relative paths resolved as git does.
    private func includedFiles() -> [FilePath] {
        var found: [FilePath] = []
        for variable in (try? ConfigSnapshot(of: self).variables()) ?? [] {
            guard variable.name.hasPrefix("include"), variable.name.hasSuffix(".path"),
                let text = variable.value
            else { continue }
            let path: FilePath =
                if text.hasPrefix("~/"), let home = getenv("HOME") {
                    FilePath(platformString: home).pushing(FilePath(String(text.dropFirst(2))))
                } else if variable.level == GIT_CONFIG_LEVEL_LOCAL {
                    // An absolute path replaces what it is pushed to.
                    commonDirectory.pushing(FilePath(text))
                } else {
                    FilePath(text)
                }
            guard path.isAbsolute else { continue }
            found.append(path.lexicallyNormalized())
            if let real = try? path.resolvingLinks() { found.append(real) }
        }
        return found
    }

    /// Whether a path is one that a commit of the working tree could hold: below its top, and not below its `.git`.
    private static func isFile(_ path: FilePath, of top: FilePath) -> Bool {
        path.starts(with: top) && !path.starts(with: top.appending(".git"))
    }

    private static func unsafe(_ sentence: String) -> GitError { GitError(code: .invalid, message: sentence) }

    private static func checkOwner(of path: FilePath) throws(GitError) {
        guard let facts = path.facts(), facts.st_uid != geteuid() else { return }
        throw GitError(
            code: .untrustedOwner, message: "\(path) belongs to another user (uid \(facts.st_uid))")
    }
}
