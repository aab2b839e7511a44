import CLinux
import Glibc
import System
import SystemPackage

/// The files of a working tree whose content steers git itself: `.gitignore`, `.gitattributes`, `.gitmodules`.
///
/// Whoever pushes writes them, and libgit2 opens whatever has the name: a link to a pipe would be waited for, one to a mount
/// of ours would ask for a passphrase, and a huge one is read as a whole. git follows no link there either.
enum RuleFiles {
    /// The largest that is read, in bytes.
    static let limit = 1 << 20

    /// Then a folder is there and cannot be looked into, which says nothing of it.
    private static let shortages: [Errno] = [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory]

    /// One descriptor is open for each folder on the way down.
    private static let deepest = 256

    static let names = [".gitignore", ".gitattributes", ".gitmodules"]
    private static let components = names.compactMap { FilePath.Component($0) }

    /// Looks at the rule files of one folder, relative to the top.
    /// - Throws: `.invalid` where one is no file of ordinary size.
    static func check(_ folder: FilePath, top: FilePath) throws(GitError) {
        // As libgit2 will open it, with the links on the way.
        let place: OwnedDescriptor
        do throws(Errno) {
            place = try OwnedDescriptor(opening: top.pushing(folder), PASSDIR_O_PATH | O_DIRECTORY)
        } catch {
            guard shortages.contains(error) else { return }
            throw .system(error, "cannot open \(folder)")
        }
        for name in components { try check(name, in: folder, at: place.raw) }
    }

    /// - Parameter place: the folder, open.
    private static func check(
        _ name: FilePath.Component, in folder: FilePath, at place: CInt
    ) throws(GitError) {
        let path = folder.appending(name)
        var facts = stat()
        guard name.withPlatformString({ fstatat(place, $0, &facts, AT_SYMLINK_NOFOLLOW) }) == 0 else {
            return
        }
        try check(path, facts)
        try checkPatterns(path, at: place)
    }

    private static func check(_ path: FilePath, _ facts: stat) throws(GitError) {
        guard facts.st_mode & S_IFMT != S_IFREG || facts.st_size > limit else { return }
        throw GitError(
            code: .invalid,
            message: "\(path) is not a file of up to \(limit >> 20) MiB, so what git ignores is unknown: "
                + "replace or remove it")
    }

    /// Looks at the patterns of one file in a folder, which was no link a moment ago; what cannot be opened now is not
    /// there for libgit2 either.
    private static func checkPatterns(_ path: FilePath, at folder: CInt) throws(GitError) {
        guard let name = path.lastComponent else { return }
        guard let file = try? OwnedDescriptor(opening: name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        else { return }
        let bytes = try GitError.wrapping("cannot read \(path)", file.readAll())
        guard !bytes.withUnsafeBytes(PatternCost.isBounded) else { return }
        throw GitError(
            code: .invalid,
            message:
                "\(path) has patterns with so many * that git would match them forever: shorten or remove it"
        )
    }

    /// Looks at every folder of a working tree; no link is followed, and what is in `.git` is left out.
    static func checkAll(top: FilePath) throws(GitError) {
        guard let opened = try? OwnedDescriptor(opening: top, O_RDONLY | O_DIRECTORY) else { return }
        try walk(opened, FilePath(), depth: 0)
    }

    private static func walk(
        _ opened: consuming OwnedDescriptor, _ folder: FilePath, depth: Int
    ) throws(GitError) {
        guard depth < deepest, var stream = try? DirectoryStream(opened) else {
            throw GitError(code: .invalid, message: "\(folder) is more than \(deepest) folders deep")
        }
        while let entry = try? stream.next() {
            guard let name = entry.component, name != ".git" else { continue }
            if components.contains(name) { try check(name, in: folder, at: stream.descriptor) }
            guard entry.kind == .directory else { continue }
            let child: OwnedDescriptor
            do throws(Errno) {
                child = try stream.openFolder(entry.name)
            } catch {
                guard shortages.contains(error) else { continue }
                throw .system(error, "cannot list \(folder.appending(name))")
            }
            try walk(child, folder.appending(name), depth: depth + 1)
        }
    }
}
