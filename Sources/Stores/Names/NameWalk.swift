import Glibc
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
        walk(root, &prefix, &found, depth: 0)
        return found
    }

    /// Takes over the descriptor.
    private static func walk(_ folder: Int32, _ prefix: inout [UInt8], _ found: inout [String], depth: Int) {
        guard depth < 256, let stream = fdopendir(folder) else {
            close(folder)
            return
        }
        defer { closedir(stream) }
        var secrets: [[UInt8]] = []
        var folders: [[UInt8]] = []
        // Only names that stand in the way of a bare one matter: few, so looked up by hash.
        var others: Set<[UInt8]> = []
        while let entry = readdir(stream) {
            let name = bytes(of: entry)
            var kind = CInt(entry.pointee.d_type)
            if kind == 0 { kind = looked(folder, name) }
            let isSecret = name.count > 4 && name.suffix(4).elementsEqual(".gpg".utf8)
            switch kind {
            case 4:
                guard name != dot, name != dotdot, name != git else { continue }
                folders.append(name)
                others.insert(name)
            case 8, 10:
                if isSecret, !name.starts(with: Store.temporaryPrefix.utf8) {
                    secrets.append(name)
                } else {
                    others.insert(name)
                }
            default: continue
            }
        }
        for name in secrets.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let bare = Array(name.dropLast(4))
            let visible = others.contains(bare) || bare == dot || bare == dotdot || bare == git ? name : bare
            found.append(String(decoding: prefix + visible, as: UTF8.self))
        }
        for name in folders.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let child = (name + [0]).withUnsafeBytes {
                openat(
                    folder, $0.bindMemory(to: CChar.self).baseAddress!,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            }
            guard child >= 0 else { continue }
            let length = prefix.count
            prefix += name
            prefix.append(UInt8(ascii: "/"))
            walk(child, &prefix, &found, depth: depth + 1)
            prefix.removeSubrange(length...)
        }
    }

    private static func bytes(of entry: UnsafeMutablePointer<dirent>) -> [UInt8] {
        withUnsafeBytes(of: &entry.pointee.d_name) { raw in
            Array(raw.prefix { $0 != 0 })
        }
    }

    /// For file systems that do not tell kinds in listings.
    private static func looked(_ folder: Int32, _ name: [UInt8]) -> CInt {
        var facts = stat()
        let code = (name + [0]).withUnsafeBytes {
            fstatat(folder, $0.bindMemory(to: CChar.self).baseAddress!, &facts, AT_SYMLINK_NOFOLLOW)
        }
        guard code == 0 else { return 0 }
        switch EntryKind(mode: facts.st_mode) {
        case .regular: return 8
        case .directory: return 4
        case .symbolicLink: return 10
        case .other: return 0
        }
    }

    private static let dot = Array(".".utf8)
    private static let dotdot = Array("..".utf8)
    private static let git = Array(".git".utf8)
}
