import Glibc
import System
import SystemPackage

/// Removes a folder with everything in it. Symbolic links are removed, never followed; another file system mounted in
/// it is not entered.
enum FolderRemoval {
    /// No error when the folder is not there.
    static func remove(_ folder: FilePath) throws(LifecycleError) {
        guard folder.isAbsolute, folder.components.count >= 2 else {
            throw LifecycleError(.failed, "\(folder) is not a folder that can be removed")
        }
        try rethrowing(removeTree(folder)) { (error: Errno) in
            LifecycleError(.failed, "cannot remove \(folder): \(error)")
        }
    }

    private static func removeTree(_ folder: FilePath) throws(Errno) {
        guard let facts = folder.facts() else {
            if errno == ENOENT { return }
            throw .last
        }
        guard let name = folder.lastComponent else { return }
        let parent = try OwnedDescriptor(opening: folder.removingLastComponent(), O_RDONLY | O_DIRECTORY)
        try remove(name, in: parent.raw, device: facts.st_dev)
        try? parent.synchronize()
    }

    private static func remove(
        _ name: FilePath.Component, in parent: CInt, device: dev_t
    ) throws(Errno) {
        if name.withPlatformString({ unlinkat(parent, $0, 0) }) == 0 || errno == ENOENT { return }
        guard errno == EISDIR || errno == EPERM else { throw .last }
        let folder = try OwnedDescriptor(opening: name, in: parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard (try? folder.facts())?.st_dev == device else { throw .resourceBusy }
        var stream = try DirectoryStream(folder)
        while let child = try stream.next()?.component {
            try remove(child, in: stream.descriptor, device: device)
        }
        guard name.withPlatformString({ unlinkat(parent, $0, AT_REMOVEDIR) }) == 0 || errno == ENOENT else {
            throw .last
        }
    }
}
