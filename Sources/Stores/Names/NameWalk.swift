import Glibc
import System
public import SystemPackage

/// The names of a store's secrets, as the mount shows them, without a look into any: a walk over its folders that
/// follows no symbolic link.
public enum NameWalk {
    /// The paths of all secrets below a folder, relative to it, sorted by bytes within each folder. What cannot be read
    /// is left out.
    public static func secrets(in folder: FilePath) -> [String] {
        var found: [String] = []
        let root = folder.withPlatformString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard root >= 0 else { return [] }
        var prefix: [UInt8] = []
        walk(OwnedDescriptor(root), &prefix, &found, depth: 0)
        return found
    }

    /// The rule of `VisibleName`, for names of which nothing else is looked at; a test holds both together.
    private static func walk(
        _ folder: consuming OwnedDescriptor, _ prefix: inout [UInt8], _ found: inout [String], depth: Int
    ) {
        guard depth < 256, var stream = try? DirectoryStream(folder) else { return }
        var secrets: [[UInt8]] = []
        var folders: [[UInt8]] = []
        // Only names that stand in the way of a bare one matter: few, so looked up by hash.
        var others: Set<[UInt8]> = []
        while let entry = try? stream.next() {
            let name = entry.name
            switch entry.kind {
            case .directory:
                guard name != git else { continue }
                folders.append(name)
                others.insert(name)
            case .regular, .symbolicLink:
                let isSecret =
                    name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
                if isSecret, !name.starts(with: Store.temporaryPrefix.utf8) {
                    secrets.append(name)
                } else {
                    others.insert(name)
                }
            case .other: continue
            }
        }
        for name in secrets.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let bare = Array(name.dropLast(suffix.count))
            let visible = others.contains(bare) || bare == dot || bare == dotdot || bare == git ? name : bare
            // In the way of `x.gpg.gpg`, which comes after `x.gpg`.
            if visible.count == name.count { others.insert(name) }
            found.append(String(decoding: prefix + visible, as: UTF8.self))
        }
        for name in folders.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            guard let child = try? stream.openFolder(name) else { continue }
            let length = prefix.count
            prefix += name
            prefix.append(UInt8(ascii: "/"))
            walk(child, &prefix, &found, depth: depth + 1)
            prefix.removeSubrange(length...)
        }
    }

    private static let suffix = FilePath.Component.secretSuffix
    private static let dot = Array(".".utf8)
    private static let dotdot = Array("..".utf8)
    private static let git = Array(".git".utf8)
}
