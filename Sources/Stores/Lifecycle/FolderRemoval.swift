import Glibc
import System
import SystemPackage

/// Removes a folder with everything in it. Symbolic links are removed, never followed; another file system mounted in
/// it is not entered.
enum FolderRemoval {
    /// No error when the folder is not there.
    static func remove(_ folder: FilePath) throws(LifecycleError) {
        guard folder.isAbsolute, folder.components.count >= 2 else {
            throw LifecycleError(.failed, "\(folder) is not a folder to be removed")
        }
        var facts = stat()
        guard folder.withPlatformString({ lstat($0, &facts) }) == 0 else {
            if errno == ENOENT { return }
            throw LifecycleError(.failed, "\(folder) cannot be removed: \(Errno.last)")
        }
        let parent = folder.removingLastComponent()
        let descriptor = parent.withPlatformString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0, let name = folder.lastComponent else {
            throw LifecycleError(.failed, "\(folder) cannot be removed: \(Errno.last)")
        }
        defer { close(descriptor) }
        do throws(Errno) {
            try remove(name, in: descriptor, device: facts.st_dev)
        } catch {
            throw LifecycleError(.failed, "\(folder) cannot be removed: \(error)")
        }
        fsync(descriptor)
    }

    private static func remove(
        _ name: FilePath.Component, in parent: CInt, device: dev_t
    ) throws(Errno) {
        if name.withPlatformString({ unlinkat(parent, $0, 0) }) == 0 || errno == ENOENT { return }
        guard errno == EISDIR || errno == EPERM else { throw .last }
        let opened = name.withPlatformString {
            openat(parent, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard opened >= 0 else { throw .last }
        let folder = OwnedDescriptor(opened)
        var facts = stat()
        guard fstat(folder.raw, &facts) == 0, facts.st_dev == device else { throw .resourceBusy }
        var stream = try DirectoryStream(folder)
        while let child = try stream.next()?.component {
            try remove(child, in: stream.descriptor, device: device)
        }
        guard name.withPlatformString({ unlinkat(parent, $0, AT_REMOVEDIR) }) == 0 || errno == ENOENT else {
            throw .last
        }
    }
}
