import Fuse
import Stores
import Glibc
import SystemPackage

/// What a visible name stands for on disk.
struct BackingEntry: Sendable {
    enum Kind: Sendable {
        case directory
        case secret
        case plain
        case symbolicLink
    }

    var kind: Kind
    /// The name on disk.
    var name: Name
    /// The facts of what lies there.
    var status: FileStatus
}

/// How names on disk and names in the mount belong together.
///
/// A secret `x.gpg` is shown as `x`, unless `x` itself is on disk; then it keeps its name. A symbolic link is treated
/// likewise. Everything else keeps its name. So every entry has exactly one visible name and no two share one.
enum VisibleName {
    private static let suffix = ".gpg"

    /// `.git` and our temporary files.
    static func isHidden(_ name: Name) -> Bool {
        let text = name.string
        return text == ".git" || text.hasPrefix(Store.temporaryPrefix)
    }

    /// The name on disk of a secret that is newly made as `visible`; nil where it would be shown under another name,
    /// because `visible` itself is on disk, or where the name is hidden or too long.
    static func backingName(forNew visible: Name) -> Name {
        visible.appendingSuffix()
    }

    /// Finds what a visible name stands for.
    static func resolve(_ visible: Name, in directory: FilePath, of root: Root) throws(Errno) -> BackingEntry?
    {
        guard !isHidden(visible) else { return nil }
        if let status = try root.statusIfPresent(of: directory.appending(visible)) {
            switch status.kind {
            case .directory: return BackingEntry(kind: .directory, name: visible, status: status)
            case .other: return nil
            case .regular, .symbolicLink:
                let kind: BackingEntry.Kind = status.kind == .symbolicLink ? .symbolicLink : .plain
                guard let stripped = visible.strippingSuffix() else {
                    // Opened and saved like a secret: what it holds is not encrypted, who may read is decided by it.
                    let isRecipients = kind == .plain && visible == Store.recipientFileName
                    return BackingEntry(kind: isRecipients ? .secret : kind, name: visible, status: status)
                }
                // Shown under its full name only when the bare one is taken by something that is shown.
                guard try isTaken(stripped, in: directory, of: root) else { return nil }
                return BackingEntry(
                    kind: kind == .plain ? .secret : .symbolicLink, name: visible, status: status)
            }
        }
        // A name that is too long with its suffix cannot be that of a secret.
        let suffixed = visible.appendingSuffix()
        guard suffixed.byteCount <= 255 else { return nil }
        guard let status = try root.statusIfPresent(of: directory.appending(suffixed)) else { return nil }
        switch status.kind {
        case .regular: return BackingEntry(kind: .secret, name: suffixed, status: status)
        case .symbolicLink: return BackingEntry(kind: .symbolicLink, name: suffixed, status: status)
        case .directory, .other: return nil
        }
    }

    private static func isTaken(_ name: Name, in directory: FilePath, of root: Root) throws(Errno) -> Bool {
        try root.statusIfPresent(of: directory.appending(name)) != nil
    }

    /// The visible names of a folder's entries, with what each is on disk.
    static func visible(_ entries: [DirectoryEntry]) -> [(name: Name, kind: FileKind)] {
        let taken = Set(entries.lazy.map(\.name))
        return entries.compactMap { entry in
            guard !isHidden(entry.name) else { return nil }
            switch entry.kind {
            case .directory: return (entry.name, .directory)
            case .other: return nil
            case .regular, .symbolicLink:
                let kind: FileKind = entry.kind == .regular ? .regular : .symbolicLink
                if let stripped = entry.name.strippingSuffix(), !taken.contains(stripped), !isHidden(stripped)
                {
                    return (stripped, kind)
                }
                return (entry.name, kind)
            }
        }
    }
}

extension Name {
    /// How many bytes the name has.
    var byteCount: Int { withPlatformString { string in strlen(string) } }

    /// The name with `.gpg` behind it.
    func appendingSuffix() -> Name {
        withPlatformString { string in
            let bytes = UnsafeBufferPointer(start: string, count: strlen(string))
            return Name(platformString: Array(bytes) + gpgSuffix + [0])!
        }
    }

    /// The name without `.gpg`; nil when it does not end so, or nothing would be left.
    func strippingSuffix() -> Name? {
        withPlatformString { string in
            let bytes = UnsafeBufferPointer(start: string, count: strlen(string))
            guard bytes.count > gpgSuffix.count, bytes.suffix(gpgSuffix.count).elementsEqual(gpgSuffix) else {
                return nil
            }
            let bare = Name(platformString: Array(bytes.dropLast(gpgSuffix.count)) + [0])
            return bare?.kind == .regular ? bare : nil
        }
    }
}

private let gpgSuffix: [CChar] = [0x2E, 0x67, 0x70, 0x67]
