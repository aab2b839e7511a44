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
        guard try GitError.wrapping("cannot write a pack", folder.makeFolder()) else {
            throw .system(.fileExists, "cannot write a pack")
        }
        defer { KeptPack.removeFolder(folder) }
        var pack = BlobPack()
        for object in objects { pack.add(object.bytes, kind: object.kind) }
        let name = try pack.write(into: folder, nil)
        let place = common.pushing("objects/pack")
        _ = try? place.makeFolder(mode: 0o777)
        let keep = place.appending(name + ".keep")
        let draft = folder.appending("keep")
        let descriptor = try OwnedDescriptor(
            opening: draft, O_CREAT | O_EXCL | O_WRONLY, mode: 0o444,
            failure: GitError.system("cannot write a pack"))
        try GitError.wrapping("cannot write a pack", descriptor.writeAll(Self.mark))
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
            try GitError.wrapping(
                "cannot write a pack",
                folder.appending(name + suffix).rename(to: place.appending(name + suffix)))
        }
        OwnedDescriptor.synchronize(folder: place)
    }

    /// From now on it is a pack as any other.
    func release() {
        keep?.unlink()
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
            let file = place.appending(name)
            guard let descriptor = try? OwnedDescriptor(opening: file, O_RDONLY | O_NOFOLLOW),
                (try? descriptor.readAll(atMost: mark.count)) == mark
            else { continue }
            file.unlink()
        }
    }

    private static func removeFolder(_ folder: FilePath) {
        for name in DirectoryStream.names(in: folder) { folder.appending(name).unlink() }
        _ = folder.withPlatformString { rmdir($0) }
    }
}
