public import Git
import Glibc
import System
public import SystemPackage

/// Which git repositories are a store's: the one whose `.git` lies at the store's top, and those inside the store that
/// hold secrets. Every other repository is left alone: not opened, committed, merged, fetched or pushed.
///
/// A repository around the store is none of the store's, as `pass` never leaves its own folder either. Nothing is searched:
/// the folders of the store are walked by the rules of `Root`, so no symbolic link leads to another repository.
public struct StoreRepositories: Sendable {
    private let root: Root
    private let takesTop: Bool

    /// - Parameter takesTop: whether a repository at the top counts without a `.gpg-id` beside it.
    init(_ root: Root, takesTop: Bool) {
        self.root = root
        self.takesTop = takesTop
    }

    /// The store's own repository; nil when there is none.
    /// - Throws: what is wrong with one that is there.
    public func own() throws(GitError) -> Repository? { try open(FilePath()) }

    /// The repository of the store with its top in this folder, which `around` or `inside` named; nil when there is none
    /// any more.
    /// - Parameter folder: relative to the store; empty for the store's own.
    public func open(_ folder: FilePath) throws(GitError) -> Repository? {
        guard hasGit(folder), isMarked(folder) else { return nil }
        let place = folder.isEmpty ? root.path : root.path.pushing(folder)
        guard let repository = try Repository.open(workingTree: place) else { return nil }
        guard repository.workingDirectory?.lexicallyNormalized() == place else {
            throw GitError(
                code: .invalid, message: "\(place) was replaced while its repository was being opened")
        }
        return repository
    }

    /// The top of the repository that a file belongs to, relative to the store; nil when it belongs to none of the
    /// store's. A file in a repository that is not the store's belongs to none.
    /// - Parameter file: it, and folders above it, may be gone.
    public func around(_ file: FilePath) -> FilePath? {
        var folder = file.removingLastComponent()
        while !folder.isEmpty {
            if hasGit(folder), hasGitByName(folder) {
                guard isMarked(folder) else { return nil }
                // What was saved or removed there is a secret, or else one is looked for.
                return file.isSecretName || holdsSecret(folder) ? folder : nil
            }
            folder.removeLastComponent()
        }
        return hasGit(folder) && isMarked(folder) ? folder : nil
    }

    /// The tops of the repositories inside the store that are its own. Looks at every folder.
    public func inside() -> [FilePath] {
        var found: [FilePath] = []
        var waiting: [FilePath] = [FilePath()]
        while let folder = waiting.popLast() {
            guard let entries = try? root.entries(of: folder) else { continue }
            if !folder.isEmpty, entries.contains(where: Self.isGit), isMarked(folder), holdsSecret(folder) {
                found.append(folder)
            }
            waiting += Self.folders(in: entries).map { folder.appending($0) }
        }
        return found
    }

    /// The folder of a repository that the store lies in, of which nothing but the name is looked at; nil when the store
    /// lies in none.
    public var outer: FilePath? { Self.outer(around: root.path) }

    /// As `outer`, of a folder by its absolute path without links.
    public static func outer(around place: FilePath) -> FilePath? {
        var folder = place
        while folder.removeLastComponent() {
            if folder.appending(".git").facts() != nil { return folder }
        }
        return nil
    }

    /// Why the `.git` at the store's top is left alone, as one sentence; nil when it is not, or there is none.
    public var reasonToLeaveTopAlone: String? {
        guard hasGit(FilePath()), !isMarked(FilePath()) else { return nil }
        return
            "the repository in \(root.path) is left alone because it has no .gpg-id at its top level: "
            + Self.adviceForMissingList(in: root.path)
    }

    /// How a folder gets a `.gpg-id`, as the end of a sentence.
    static func adviceForMissingList(in folder: FilePath) -> String {
        let name = ShellWord.quoted(folder.string)
        return
            "PASSWORD_STORE_DIR=\(name) pass init KEY creates one, or, if one was committed, git -C \(name) "
            + "checkout .gpg-id restores it"
    }

    private func hasGit(_ folder: FilePath) -> Bool {
        // Also a link, which opening refuses with a sentence.
        ((try? root.statusIfPresent(of: folder.appending(".git"))) ?? nil) != nil
    }

    /// On a file system that knows no upper case `.GIT`, which a commit may hold, answers to `.git`, too.
    private func hasGitByName(_ folder: FilePath) -> Bool {
        (try? root.entries(of: folder))?.contains(where: Self.isGit) ?? false
    }

    private static func isGit(_ entry: DirectoryEntry) -> Bool { entry.name == ".git" }

    private static func folders(in entries: [DirectoryEntry]) -> [FilePath.Component] {
        entries.filter { $0.kind == .directory && $0.name != ".git" }.map(\.name)
    }

    /// Whether recipients are named for a folder: at the top in the top itself, inside the store in it or above it.
    private func isMarked(_ folder: FilePath) -> Bool {
        if folder.isEmpty, takesTop { return true }
        var folder = folder
        while true {
            let file = folder.appending(Store.recipientFileName)
            if ((try? root.statusIfPresent(of: file)) ?? nil)?.kind == .regular { return true }
            guard folder.removeLastComponent() else { return false }
        }
    }

    /// Whether a folder has a secret, not counting those of repositories in it. A keyring, which source trees have under
    /// that name, is none.
    private func holdsSecret(_ top: FilePath) -> Bool {
        var waiting = [top]
        while let folder = waiting.popLast() {
            guard let entries = try? root.entries(of: folder),
                folder == top || !entries.contains(where: Self.isGit)
            else { continue }
            for entry in entries where entry.kind == .regular && entry.name.strippingSuffix() != nil {
                if isMessage(folder.appending(entry.name)) { return true }
            }
            waiting += Self.folders(in: entries).map { folder.appending($0) }
        }
        return false
    }

    /// Whether a file begins as an encrypted message does: with a session key (tags 1 and 3 of RFC 4880) or a marker (10).
    private func isMessage(_ path: FilePath) -> Bool {
        guard let file = try? root.open(path, flags: O_RDONLY | O_NONBLOCK) else { return false }
        var first: UInt8 = 0
        guard pread(file.raw, &first, 1, 0) == 1, first & 0x80 != 0 else { return false }
        return [1, 3, 10].contains(first & 0x40 != 0 ? first & 0x3F : first >> 2 & 0x0F)
    }
}

extension Store {
    /// The git repositories that are the store's.
    public var repositories: StoreRepositories {
        StoreRepositories(root, takesTop: options.isClone || options.recipientOverride != nil)
    }
}
