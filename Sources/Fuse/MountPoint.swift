import Glibc
import System
public import SystemPackage

/// Questions about a directory that is, or is to be, a mount point, and the mending of one whose process has died.
public enum MountPoint {
    /// Whether a FUSE file system is mounted at `path` whose process is gone: everything there answers ENOTCONN.
    /// Asks the file system at `path` itself, and so waits for one that doesn't answer.
    ///
    /// By statvfs(2): what stat(2) tells of it the kernel may have kept.
    public static func isStale(_ path: FilePath) -> Bool {
        var facts = statvfs()
        return path.withPlatformString { statvfs($0, &facts) } != 0 && errno == ENOTCONN
    }

    /// Makes a directory that was a mount point an ordinary one again: see `SessionOptions.protectsMountPoint`.
    /// - Returns: false where something is mounted there, or it is not ours to change; true also where it is gone.
    public static func giveBack(_ path: FilePath, mode: mode_t) -> Bool {
        do throws(MountError) {
            guard try mounted(at: path) == nil else { return false }
        } catch {
            return false
        }
        return BareDirectory(path)?.giveBack(mode) ?? !path.exists
    }

    /// What is mounted exactly at `path`, the topmost if several are; nil if nothing. Touches no mounted file
    /// system but those above `path`. Throws `other` when the kernel's table cannot be read.
    public static func mounted(at path: FilePath) throws(MountError) -> MountedFilesystem? {
        let path = canonical(path)
        return try rethrowing(Mountinfo.read().last { $0.mountPoint == path }) { (error: Errno) in
            MountError(.other, "The table of mounts /proc/self/mountinfo cannot be read: \(error).")
        }
    }

    /// Frees a stale mount point: unmounts, lazily when something still holds on to it. Returns false when the mount
    /// point isn't stale, and then nothing is done. Throws when unmounting fails.
    @discardableResult
    public static func mend(_ path: FilePath) throws(MountError) -> Bool {
        guard isStale(path) else { return false }
        try unmount(path)
        return true
    }

    /// Unmounts what is mounted at `path`, stale or not; lazily if it is busy and `lazilyIfBusy`.
    static func unmount(_ path: FilePath, lazilyIfBusy: Bool = true) throws(MountError) {
        let path = canonical(path)
        do throws(MountError) {
            try Fusermount.unmount(path, lazily: false)
        } catch {
            guard lazilyIfBusy, error.code == .busy else { throw error }
            try Fusermount.unmount(path, lazily: true)
        }
    }

    /// Throws unless a file system can be mounted at `path`; returns the path as the kernel will list it.
    static func check(_ path: FilePath, refusesNonEmpty: Bool) throws(MountError) -> FilePath {
        guard !isStale(path) else {
            throw MountError(
                .stale,
                "\(path) still holds a mount whose process has ended. Unmount it: fusermount3 -u \(path)")
        }
        switch status(of: path) {
        case .failure(.noSuchFileOrDirectory):
            throw MountError(.mountPointMissing, "There is no directory \(path). Make it first.")
        case .failure(let error) where error == .permissionDenied:
            throw MountError(.notPermitted, "\(path) cannot be reached: \(error).")
        case .failure(let error):
            throw MountError(.other, "\(path) cannot be used as a mount point: \(error).")
        case .success(let mode):
            guard mode & S_IFMT == S_IFDIR else {
                throw MountError(.notADirectory, "\(path) is not a directory.")
            }
        }
        let path = canonical(path)
        if let found = try mounted(at: path) {
            throw MountError(
                .alreadyMounted, "At \(path) is already mounted: \(found.source), type \(found.type).")
        }
        if refusesNonEmpty, hasEntries(path) {
            throw MountError(.notEmpty, "\(path) is not empty; mounting there would hide what is in it.")
        }
        return path
    }

    private static func status(of path: FilePath) -> Result<mode_t, Errno> {
        path.targetFacts().map { .success($0.st_mode) } ?? .failure(.last)
    }

    /// Absolute and without symbolic links, as the kernel lists mount points. The last part of a stale one cannot
    /// be looked at, so then only what is above it is resolved.
    static func canonical(_ path: FilePath) -> FilePath {
        if let resolved = try? path.resolvingLinks() { return resolved }
        guard let last = path.lastComponent else { return path }
        let parent = path.removingLastComponent()
        return ((try? (parent.isEmpty ? "." : parent).resolvingLinks()) ?? parent).appending(last)
    }

    private static func hasEntries(_ path: FilePath) -> Bool {
        do throws(Errno) {
            var directory = try DirectoryStream(path)
            return try directory.next() != nil
        } catch {
            return false
        }
    }
}
