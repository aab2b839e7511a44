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
            guard item.kind != .link, prepared.step.path.extension != "gpg" else {
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
        _ = place.withPlatformString { unlink($0) }
        if kind == .link {
            let target = bytes.map { CChar(bitPattern: $0) } + [0]
            guard place.withPlatformString({ symlink(target, $0) }) == 0 else {
                throw .system(Errno(rawValue: errno), "cannot make the link \(prepared.step.path)")
            }
            return
        }
        let mode: mode_t = kind == .executable ? 0o700 : 0o600
        let opened = place.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode) }
        guard opened >= 0 else {
            throw .system(Errno(rawValue: errno), "cannot write \(prepared.step.path)")
        }
        let file = OwnedDescriptor(opened)
        var done = 0
        while done < bytes.count {
            let wrote = Glibc.write(file.raw, bytes.baseAddress! + done, bytes.count - done)
            if wrote < 0 {
                if errno == EINTR { continue }
                throw .system(Errno(rawValue: errno), "cannot write \(prepared.step.path)")
            }
            done += wrote
        }
        do throws(Errno) {
            try file.synchronize()
        } catch {
            throw .system(error, "cannot write \(prepared.step.path)")
        }
    }
}
