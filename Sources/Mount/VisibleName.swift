import Fuse
import Stores
import Glibc
import System
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
/// A secret `x.gpg` is shown as `x`, unless what is called `x` on disk is shown by that name; then it keeps its own. A
/// symbolic link is treated likewise. Everything else keeps its name. So every entry has exactly one visible name and no
/// two share one, and `x.gpg.gpg` is shown as `x.gpg` whether there is an `x.gpg`, shown as `x`, or not. What is shown as `x.gpg` because
/// of an `x` stays so when that is moved or removed through the mount (`KeptNames`).
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
    static func resolve(
        _ visible: Name, in directory: FilePath, of root: Root, keeping kept: KeptNames
    ) throws(Errno) -> BackingEntry? {
        func isKept(_ name: Name) -> Bool { kept.include(directory.appending(name)) }
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
                let isBareTaken = try isTaken(stripped, isKept) { name throws(Errno) in
                    try root.statusIfPresent(of: directory.appending(name))?.kind
                }
                if isBareTaken || isKept(visible) {
                    return BackingEntry(
                        kind: kind == .plain ? .secret : .symbolicLink, name: visible, status: status)
                }
            }
        }
        // A name that is too long with its suffix cannot be that of a secret.
        let suffixed = visible.appendingSuffix()
        guard suffixed.byteCount <= 255, !isKept(suffixed) else { return nil }
        guard let status = try root.statusIfPresent(of: directory.appending(suffixed)) else { return nil }
        switch status.kind {
        case .regular: return BackingEntry(kind: .secret, name: suffixed, status: status)
        case .symbolicLink: return BackingEntry(kind: .symbolicLink, name: suffixed, status: status)
        case .directory, .other: return nil
        }
    }

    /// Whether a name cannot be shown for the file that has it with `.gpg`: it is hidden, or what is called so on disk is
    /// shown by it.
    private static func isTaken(
        _ name: Name, _ isKept: (Name) -> Bool, _ kind: (Name) throws(Errno) -> EntryKind?
    ) throws(Errno) -> Bool {
        if isHidden(name) { return true }
        switch try kind(name) {
        case nil: return false
        case .directory, .other: return true
        case .regular, .symbolicLink:
            guard let stripped = name.strippingSuffix(), !isKept(name) else { return true }
            return try isTaken(stripped, isKept, kind)
        }
    }

    /// The visible name of what is called `name` on disk; nil where there is nothing that is shown.
    static func ofEntry(
        _ name: Name, in directory: FilePath, of root: Root, keeping kept: KeptNames
    ) throws(Errno) -> Name? {
        func isKept(_ name: Name) -> Bool { kept.include(directory.appending(name)) }
        func kind(_ name: Name) throws(Errno) -> EntryKind? {
            try root.statusIfPresent(of: directory.appending(name))?.kind
        }
        guard !isHidden(name), let found = try kind(name), found != .other else { return nil }
        guard found != .directory, let stripped = name.strippingSuffix(), !isKept(name),
            try !isTaken(stripped, isKept, kind)
        else { return name }
        return stripped
    }

    /// The visible names of a folder's entries, with what each is on disk.
    static func visible(
        _ entries: [DirectoryEntry], in directory: FilePath, keeping kept: KeptNames
    ) -> [(name: Name, kind: FileKind)] {
        func isKept(_ name: Name) -> Bool { kept.include(directory.appending(name)) }
        let kinds = Dictionary(
            entries.lazy.map { ($0.name, $0.kind) }, uniquingKeysWith: { first, _ in first })
        return entries.compactMap { entry in
            guard !isHidden(entry.name) else { return nil }
            switch entry.kind {
            case .directory: return (entry.name, .directory)
            case .other: return nil
            case .regular, .symbolicLink:
                let kind: FileKind = entry.kind == .regular ? .regular : .symbolicLink
                if let stripped = entry.name.strippingSuffix(), !isKept(entry.name),
                    (try? isTaken(stripped, isKept) { kinds[$0] }) == false
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
