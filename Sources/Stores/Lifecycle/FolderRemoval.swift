import Glibc
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
            try name.withPlatformString { name in
                Result { () throws(Errno) in try remove(name, in: descriptor, device: facts.st_dev) }
            }.get()
        } catch {
            throw LifecycleError(.failed, "\(folder) cannot be removed: \(error)")
        }
        fsync(descriptor)
    }

    private static func remove(_ name: UnsafePointer<CChar>, in parent: Int32, device: dev_t) throws(Errno) {
        if unlinkat(parent, name, 0) == 0 || errno == ENOENT { return }
        guard errno == EISDIR || errno == EPERM else { throw .last }
        let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw .last }
        var facts = stat()
        guard fstat(folder, &facts) == 0, facts.st_dev == device, let stream = fdopendir(folder) else {
            close(folder)
            throw .resourceBusy
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            try withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { child in
                    Result { () throws(Errno) in
                        if strcmp(child, ".") != 0, strcmp(child, "..") != 0 {
                            try remove(child, in: folder, device: device)
                        }
                    }
                }
            }.get()
        }
        guard unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT else { throw .last }
    }
}
