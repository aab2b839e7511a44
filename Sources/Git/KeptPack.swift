import CGit
import CLinux
import Glibc
import System
import SystemPackage

/// A pack that `git gc`, `git repack` and `git prune` leave alone, by the `.keep` beside it.
final class KeptPack {
    private static let mark = Array("passdir\n".utf8)
    private static let prefix = "passdir-pack-"

    private var keep: FilePath?

    /// Writes a pack of these objects. Its `.keep` is there before itself: a collector sees both or none.
    init(_ objects: [(kind: git_object_t, bytes: [UInt8])], in repository: Repository) throws(GitError) {
        let common = repository.commonDirectory
        let folder = common.appending("\(Self.prefix)\(getpid())")
        KeptPack.removeFolder(folder)
        guard folder.withPlatformString({ mkdir($0, 0o700) }) == 0 else {
            throw .system(Errno(rawValue: errno), "cannot write a pack")
        }
        defer { KeptPack.removeFolder(folder) }
        var pack = BlobPack()
        for object in objects { pack.add(object.bytes, kind: object.kind) }
        let bytes = try pack.finished()
        let indexer = try Owned("cannot write a pack", free: git_indexer_free) { made in
            folder.withPlatformString { git_indexer_new(&made, $0, 0, nil, nil) }
        }
        var progress = git_indexer_progress()
        try check(
            withBytes(bytes) { git_indexer_append(indexer.pointer, $0, bytes.count, &progress) },
            "cannot write a pack")
        try check(git_indexer_commit(indexer.pointer, &progress), "cannot write a pack")

        let place = common.pushing("objects/pack")
        _ = place.withPlatformString { mkdir($0, 0o777) }
        let name = git_indexer_name(indexer.pointer).map { "pack-" + String(cString: $0) } ?? ""
        let keep = place.appending(name + ".keep")
        let draft = folder.appending("keep")
        let made = draft.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o444) }
        guard made >= 0 else { throw .system(Errno(rawValue: errno), "cannot write a pack") }
        let descriptor = OwnedDescriptor(made)
        try descriptor.write(Self.mark, "cannot write a pack")
        // It never lies there without the word that says whose it is; one of the user's own is the user's to remove.
        let moved = draft.withPlatformString { from in
            keep.withPlatformString {
                passdir_renameat2(AT_FDCWD, from, AT_FDCWD, $0, PASSDIR_RENAME_NOREPLACE)
            }
        }
        if moved == 0 {
            self.keep = keep
        } else if errno != EEXIST {
            throw .system(Errno(rawValue: errno), "cannot write a pack")
        }
        // In this order, as git looks for packs by their indexes.
        for suffix in [".pack", ".idx"] {
            let from = folder.appending(name + suffix)
            let moved = from.withPlatformString { from in
                place.appending(name + suffix).withPlatformString { rename(from, $0) }
            }
            guard moved == 0 else { throw .system(Errno(rawValue: errno), "cannot write a pack") }
        }
        OwnedDescriptor.synchronize(folder: place)
    }

    /// From now on it is a pack as any other.
    func release() {
        if let keep { _ = keep.withPlatformString { unlink($0) } }
        keep = nil
    }

    deinit { release() }

    /// Removes what a killed process has left of them.
    static func removeLeft(in repository: Repository) {
        let common = repository.commonDirectory
        for name in DirectoryStream.names(in: common) where name.hasPrefix(prefix) {
            removeFolder(common.appending(name))
        }
        let place = common.pushing("objects/pack")
        for name in DirectoryStream.names(in: place) where name.hasSuffix(".keep") {
            let opened = place.appending(name).withPlatformString {
                open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            }
            guard opened >= 0 else { continue }
            let descriptor = OwnedDescriptor(opened)
            var bytes = [UInt8](repeating: 0, count: mark.count + 1)
            let count = read(descriptor.raw, &bytes, bytes.count)
            guard count == mark.count, bytes.starts(with: mark) else { continue }
            _ = place.appending(name).withPlatformString { unlink($0) }
        }
    }

    private static func removeFolder(_ folder: FilePath) {
        for name in DirectoryStream.names(in: folder) {
            _ = folder.appending(name).withPlatformString { unlink($0) }
        }
        _ = folder.withPlatformString { rmdir($0) }
    }
}
