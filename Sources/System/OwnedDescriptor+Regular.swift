import CLinux
import Glibc
public import SystemPackage

extension OwnedDescriptor {
    /// Opens what a path leads to for reading, if it is a regular file: to open a pipe or a device may wait, or do something.
    ///
    /// - Parameter device: a file system on which it must not lie.
    /// - Throws: EINVAL for anything else than a regular file, and for one of /proc; EXDEV for one on that file system.
    public static func regular(
        _ path: FilePath, notOn device: dev_t? = nil
    ) throws(Errno) -> OwnedDescriptor {
        // Such a descriptor opens nothing.
        let place = try OwnedDescriptor(opening: path, PASSDIR_O_PATH)
        let facts = try place.facts()
        guard facts.st_dev != device else { throw .improperLink }
        // What /proc shows of a process is of whoever opens it: of us.
        guard facts.st_dev != FilePath("/proc").facts()?.st_dev else { throw .invalidArgument }
        guard facts.kind == .regular else { throw facts.kind == .directory ? .isDirectory : .invalidArgument }
        return try OwnedDescriptor(opening: FilePath("/proc/self/fd/\(place.raw)"), O_RDONLY | O_NONBLOCK)
    }
}
