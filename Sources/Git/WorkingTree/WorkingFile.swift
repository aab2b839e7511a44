import CGit
import CLinux
import Glibc
import System
import SystemPackage

/// What stands at a path of the working tree. No symbolic link on the way is followed: behind one, git sees nothing.
enum WorkingFile {
    /// Nothing that git could store: no entry, a socket, a path behind a symbolic link.
    case absent
    case directory
    case file(bytes: [UInt8], executable: Bool, stat: stat?)
    case link(target: [UInt8], stat: stat?)

    /// Whether a folder stands there.
    var isDirectory: Bool {
        if case .directory = self { return true }
        return false
    }

    /// The file's metadata from before and after the read are compared: `stat` is nil when it changed meanwhile.
    static func read(_ path: FilePath, in root: borrowing WorkingRoot) throws(GitError) -> WorkingFile {
        guard let parent = try root.openFolder(of: path), let name = path.lastComponent else {
            return .absent
        }
        var before = stat()
        let found = name.withPlatformString { fstatat(parent.raw, $0, &before, AT_SYMLINK_NOFOLLOW) }
        if found != 0 { return try absence("cannot stat \(path)") }
        switch before.st_mode & S_IFMT {
        case S_IFDIR: return .directory
        case S_IFLNK: return try readLink(path, name, parent, before)
        case S_IFREG: return try readFile(path, name, parent)
        default: return .absent
        }
    }

    private static func readFile(
        _ path: FilePath, _ name: FilePath.Component, _ parent: borrowing OwnedDescriptor
    ) throws(GitError) -> WorkingFile {
        // O_NONBLOCK: what was a file a moment ago may be a FIFO now, whose open would wait for a writer.
        // Its access time tells when a program read it.
        let folder = parent.raw
        let opened = try? OwnedDescriptor.leavingAccessTime { (flag) throws(Errno) in
            try OwnedDescriptor(opening: name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flag)
        }
        guard let descriptor = opened else { return try absence("cannot open \(path)") }
        guard let before = try? descriptor.facts(), before.st_mode & S_IFMT == S_IFREG else { return .absent }
        let bytes = try GitError.wrapping("cannot read \(path)", descriptor.readAll())
        let after = try? descriptor.facts()
        let steady = after.map { FileIdentity($0) == FileIdentity(before) && bytes.count == $0.st_size }
        return .file(
            bytes: bytes, executable: before.st_mode & S_IXUSR != 0, stat: steady == true ? after : nil)
    }

    private static func readLink(
        _ path: FilePath, _ name: FilePath.Component, _ parent: borrowing OwnedDescriptor, _ before: stat
    ) throws(GitError) -> WorkingFile {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = target.withUnsafeMutableBytes { buffer in
            name.withPlatformString {
                readlinkat(
                    parent.raw, $0, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
            }
        }
        guard length >= 0 else { return try absence("cannot read the link \(path)") }
        var after = stat()
        let still = name.withPlatformString { fstatat(parent.raw, $0, &after, AT_SYMLINK_NOFOLLOW) } == 0
        let steady = still && FileIdentity(before) == FileIdentity(after)
        return .link(target: Array(target[..<length]), stat: steady ? after : nil)
    }

    /// The errors that mean "nothing there", others are thrown.
    private static func absence(_ doing: String) throws(GitError) -> WorkingFile {
        let error = Errno(rawValue: errno)
        switch error {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .noSuchAddressOrDevice:
            return .absent
        default: throw .system(error, doing)
        }
    }
}

/// The top of a working tree, held open: paths are resolved from it, component by component.
struct WorkingRoot: ~Copyable {
    private let descriptor: OwnedDescriptor

    init(_ path: FilePath) throws(GitError) {
        descriptor = try OwnedDescriptor(
            opening: path, O_RDONLY | O_DIRECTORY, failure: GitError.system("cannot open \(path)"))
    }

    /// The folder that holds `path`; nil when it isn't there, or only through a symbolic link.
    func openFolder(of path: FilePath) throws(GitError) -> OwnedDescriptor? {
        let folder = path.removingLastComponent()
        // Another process may move folders about meanwhile; the kernel then asks to try again.
        for _ in 0..<100 {
            let opened = (folder.isEmpty ? "." : folder).withPlatformString {
                passdir_openat2(
                    descriptor.raw, $0, UInt64(O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0,
                    UInt64(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
            }
            if opened >= 0 { return OwnedDescriptor(opened) }
            let error = Errno(rawValue: errno)
            switch error {
            case .resourceTemporarilyUnavailable, .interrupted: continue
            case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .improperLink: return nil
            default: throw .system(error, "cannot open the folder of \(path)")
            }
        }
        throw .system(.resourceTemporarilyUnavailable, "cannot open the folder of \(path)")
    }

    /// Makes the folders that a path needs, 0700 as pass makes them.
    func makeFolders(above path: FilePath) throws(GitError) {
        let failure = GitError.system("cannot create the folder of \(path)")
        var current = try OwnedDescriptor(
            opening: FilePath("."), in: descriptor.raw, O_RDONLY | O_DIRECTORY, failure: failure)
        for component in path.removingLastComponent().components {
            _ = component.withPlatformString { mkdirat(current.raw, $0, 0o700) }
            current = try OwnedDescriptor(
                opening: FilePath(root: nil, components: component), in: current.raw,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW, failure: failure)
        }
    }

    /// Removes the folders above a path that have become empty, as git does.
    func removeEmptyFolders(above path: FilePath) {
        var folder = path.removingLastComponent()
        while let name = folder.lastComponent {
            guard let parent = try? openFolder(of: folder),
                name.withPlatformString({ unlinkat(parent.raw, $0, AT_REMOVEDIR) }) == 0
            else { return }
            folder.removeLastComponent()
        }
    }
}
