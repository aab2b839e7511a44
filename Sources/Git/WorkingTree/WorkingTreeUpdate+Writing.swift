import Glibc
import System
import SystemPackage

/// The new files under their temporary names.
extension WorkingTreeUpdate {
    /// Writes a file, or a link, and makes it durable; the content as the attributes of its path have it, but for secrets.
    static func write(
        _ item: TreeItem, from repository: Repository, to prepared: inout Prepared
    ) throws(GitError) {
        try repository.withBlob(item.id) { (bytes) throws(GitError) in
            guard item.kind != .link, !StoreFile.isMessage(prepared.step.path) else {
                return try write(bytes, item.kind, to: prepared)
            }
            let converted = try repository.converted(Array(bytes), .toWorkingTree, at: prepared.step.path)
            let result = converted.withUnsafeBytes { bytes in
                Result { () throws(GitError) in try write(bytes, item.kind, to: prepared) }
            }
            try result.get()
        }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, _ kind: TreeItem.Kind, to prepared: Prepared
    ) throws(GitError) {
        let place = prepared.temporary
        place.unlink()
        if kind == .link {
            let target = bytes.map { CChar(bitPattern: $0) } + [0]
            guard place.withPlatformString({ symlink(target, $0) }) == 0 else {
                throw .system(Errno(rawValue: errno), "cannot create the link \(prepared.step.path)")
            }
            return
        }
        let mode: mode_t = kind == .executable ? 0o700 : 0o600
        let doing = "cannot write \(prepared.step.path)"
        let file = try OwnedDescriptor(
            opening: place, O_CREAT | O_EXCL | O_WRONLY, mode: mode, failure: GitError.system(doing))
        try GitError.wrapping(doing, file.writeAll(bytes))
        try GitError.wrapping(doing, file.synchronize())
    }
}
