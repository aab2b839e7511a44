import CLinux
import Glibc
import Synchronization
import System
public import SystemPackage

/// The folder of a store on disk.
///
/// Every access starts from one descriptor of the folder and is resolved by openat2(2) with RESOLVE_BENEATH and
/// RESOLVE_NO_SYMLINKS, so that no symbolic link, `..` or race leads outside the store (rule 6 of the map).
/// Paths are relative to the folder; the empty path is the folder itself. All functions may block on the disk
/// and throw the errno of the system call.
public final class Root: Sendable {
    /// The absolute path of the folder, links resolved, as it was when it was opened.
    public var path: FilePath { state.withLock { $0.path } }
    /// The path by which the user named it, which may lead to another folder some day.
    let named: FilePath
    let state: Mutex<State>
    let lastLook = Atomic<Int64>(0)
    private let whenOpened: (@Sendable () -> Void)?
    /// Why another folder that has taken the path cannot take this one's place; nil: the path is not looked at again.
    let objection: (@Sendable (FilePath) -> String?)?

    struct State: Sendable {
        var path: FilePath
        var folder: Folder?
        /// Those that had the path before, by their generations.
        var former: [Int: Folder] = [:]
        var generation = 0
    }

    /// Opens the folder. Links on the way to the folder itself are followed: the user named it.
    public init(path: FilePath) throws(Errno) {
        let absolute = try path.resolvingLinks()
        named = absolute
        state = Mutex(State(path: absolute, folder: try Folder(absolute)))
        whenOpened = nil
        objection = nil
    }

    /// A folder that is opened when it is first used, so that a store nobody uses costs nothing, and that is followed
    /// when another one takes its path.
    /// - Parameters:
    ///   - resolved: its absolute path without links.
    ///   - named: the path that leads there now, and is looked at again; it may go through links.
    ///   - objection: why a folder that has taken the path is not to be used, as the end of a sentence; nil: it is.
    ///   - whenOpened: called once, by the thread that uses it first, when it is open.
    public init(
        lazily resolved: FilePath, named: FilePath, objection: @escaping @Sendable (FilePath) -> String?,
        whenOpened: @escaping @Sendable () -> Void
    ) {
        self.named = named
        state = Mutex(State(path: resolved))
        self.whenOpened = whenOpened
        self.objection = objection
    }

    /// Whether the folder was used already.
    public var isOpen: Bool { state.withLock { $0.folder != nil } }

    /// Lets go of the folder, so that its disk can be unmounted; it is opened again when it is used again.
    public func letGo() {
        state.withLock { state in
            state.folder = nil
            state.former = [:]
        }
    }

    /// The folder, opened now if need be.
    func folder() throws(Errno) -> Folder {
        let (folder, isNew) = try state.withLock { (state) throws(Errno) -> (Folder, Bool) in
            if let folder = state.folder { return (folder, false) }
            let folder = try Folder(named)
            state.folder = folder
            return (folder, true)
        }
        if isNew { whenOpened?() }
        guard !isNew, objection != nil, isTimeToLook() else { return folder }
        // Reading goes on in the folder that is open where there is no other.
        try? follow(as: "")
        return state.withLock { $0.folder } ?? folder
    }

    /// Opens a file or folder; `flags` as of open(2). O_CLOEXEC and O_NOFOLLOW are added.
    func open(_ path: FilePath, flags: CInt, mode: UInt64 = 0) throws(Errno) -> OwnedDescriptor {
        let relative: FilePath = path.isEmpty ? "." : path
        let folder = try folder()
        let raw = relative.withPlatformString { name in
            retryingWhenInterrupted {
                passdir_openat2(
                    folder.raw, name, UInt64(UInt32(bitPattern: flags | O_CLOEXEC)), mode,
                    UInt64(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
            }
        }
        guard raw >= 0 else { throw Errno.last }
        return OwnedDescriptor(raw)
    }

    /// Opens a file for a look of ours, which is not to be seen in its access time: that tells when a program read it.
    func openToLook(_ path: FilePath) throws(Errno) -> OwnedDescriptor {
        try OwnedDescriptor.leavingAccessTime { (flag) throws(Errno) in
            try open(path, flags: O_RDONLY | O_NONBLOCK | flag)
        }
    }

    /// Opens the folder that holds `path`; the last component itself is not looked at.
    func openParent(of path: FilePath) throws(Errno) -> OwnedDescriptor {
        try open(path.removingLastComponent(), flags: O_PATH_AND_DIRECTORY)
    }

    /// Runs a system call on the last component of `path` in the folder that holds it.
    func inParent(
        of path: FilePath, _ call: (CInt, UnsafePointer<CChar>) -> CInt
    ) throws(Errno) {
        guard let name = path.lastComponent else { throw .invalidArgument }
        let parent = try openParent(of: path)
        let result = name.withPlatformString { name in
            retryingWhenInterrupted { call(parent.raw, name) }
        }
        guard result == 0 else { throw Errno.last }
    }

    /// The facts of an entry; a symbolic link's own, never its target's.
    public func status(of path: FilePath) throws(Errno) -> FileStatus {
        if path.isEmpty { return FileStatus(try folder().descriptor.facts()) }
        var raw = stat()
        try inParent(of: path) { fstatat($0, $1, &raw, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(raw)
    }

    /// As `status(of:)`, but nil for an entry that does not exist.
    public func statusIfPresent(of path: FilePath) throws(Errno) -> FileStatus? {
        do {
            return try status(of: path)
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    /// The entries of a folder but `.` and `..`, in the order of the file system.
    public func entries(of directory: FilePath) throws(Errno) -> [DirectoryEntry] {
        var stream = try DirectoryStream(open(directory, flags: O_RDONLY | O_DIRECTORY))
        var found: [DirectoryEntry] = []
        while let entry = try stream.next() {
            guard let name = entry.component else { continue }
            found.append(DirectoryEntry(name: name, kind: entry.kind))
        }
        return found
    }

    /// The target of a symbolic link, as it stands in the link.
    public func target(ofLink path: FilePath) throws(Errno) -> [UInt8] {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        var length = -1
        try inParent(of: path) { parent, name in
            target.withUnsafeMutableBytes { buffer in
                length = readlinkat(parent, name, buffer.baseAddress!, buffer.count)
            }
            return length < 0 ? -1 : 0
        }
        return Array(target[..<length])
    }

    // What follows changes a folder but does not wait for the disk: the caller does, with
    // `synchronizeParent(of:)`, when it no longer holds a lock that others need.

    /// Makes a folder with mode 0700.
    public func makeDirectory(_ path: FilePath) throws(Errno) {
        try inParent(of: path) { mkdirat($0, $1, 0o700) }
    }

    /// Makes a symbolic link.
    public func makeSymbolicLink(_ path: FilePath, to target: [UInt8]) throws(Errno) {
        let text = target.map { CChar(bitPattern: $0) } + [0]
        try inParent(of: path) { symlinkat(text, $0, $1) }
    }

    /// Removes an empty folder.
    public func removeDirectory(_ path: FilePath) throws(Errno) {
        try inParent(of: path) { unlinkat($0, $1, AT_REMOVEDIR) }
    }

    /// Removes a file or symbolic link.
    public func unlink(_ path: FilePath) throws(Errno) {
        try inParent(of: path) { unlinkat($0, $1, 0) }
    }

    /// Renames an entry within the store, replacing what `renameat2(2)` replaces.
    public func rename(_ source: FilePath, to destination: FilePath, flags: RenameOptions = []) throws(Errno)
    {
        guard let newName = destination.lastComponent else { throw .invalidArgument }
        let newParent = try openParent(of: destination)
        try inParent(of: source) { parent, name in
            newName.withPlatformString { passdir_renameat2(parent, name, newParent.raw, $0, flags.rawValue) }
        }
    }

    /// Sets access and modification time of a file; nil leaves one as it is.
    public func setTimes(of path: FilePath, accessed: FileTime?, modified: FileTime?) throws(Errno) {
        let times = [timespec(settingTo: accessed), timespec(settingTo: modified)]
        try inParent(of: path.isEmpty ? "." : path) { utimensat($0, $1, times, AT_SYMLINK_NOFOLLOW) }
    }

    /// The folder that holds `path`.
    public func folder(holding path: FilePath) throws(Errno) -> ChangedFolder {
        ChangedFolder(try open(path.removingLastComponent(), flags: O_RDONLY | O_DIRECTORY))
    }

    /// fsync(2) of the folder that holds `path`, where nobody else renames folders meanwhile.
    public func synchronizeParent(of path: FilePath) throws(Errno) {
        try folder(holding: path).synchronize()
    }

    /// Facts of the file system that holds the store.
    public func fileSystemStatistics() throws(Errno) -> statvfs {
        var facts = statvfs()
        let directory = try open(FilePath(), flags: O_RDONLY | O_DIRECTORY)
        guard fstatvfs(directory.raw, &facts) == 0 else { throw Errno.last }
        return facts
    }
}

/// Flags of renameat2(2).
public struct RenameOptions: OptionSet, Sendable {
    /// The bits that the system call takes.
    public let rawValue: UInt32
    /// A set from the bits of the system call.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Fail with EEXIST when the destination exists.
    public static let noReplace = RenameOptions(rawValue: 1)
    /// Swap source and destination.
    public static let exchange = RenameOptions(rawValue: 2)
}

/// Calls again while the call fails with EINTR.
func retryingWhenInterrupted(_ call: () -> CInt) -> CInt {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

let O_PATH_AND_DIRECTORY: CInt = PASSDIR_O_PATH | O_DIRECTORY
