import Glibc
public import System
public import SystemPackage

/// What a visible name stands for on disk.
public struct BackingEntry: Sendable {
    /// What it is to the mount.
    public enum Kind: Sendable {
        /// A folder.
        case directory
        /// Shown decrypted, or `.gpg-id`, which is saved as a secret is.
        case secret
        /// Shown as it is.
        case plain
        /// A symbolic link, wherever it leads.
        case symbolicLink
    }

    /// What it is to the mount.
    public var kind: Kind
    /// The name on disk.
    public var name: FilePath.Component
    /// The facts of what lies there.
    public var status: FileStatus
}

/// How names on disk and names in the mount belong together: the only place that knows.
///
/// A secret `x.gpg` is shown as `x`, unless what is called `x` on disk is shown by that name; then it keeps its own. A
/// symbolic link is treated likewise. Everything else keeps its name. So every entry has exactly one visible name and no
/// two share one, and `x.gpg.gpg` is shown as `x.gpg` whether there is an `x.gpg`, shown as `x`, or not.
///
/// `isKept` tells of files, by their paths on disk, that keep their `.gpg` though nothing has the name without it any more:
/// the mount shows them so until it ends.
public enum VisibleName {
    /// Whether nothing of that name is shown: `.git` and our temporary files.
    public static func isHidden(_ name: FilePath.Component) -> Bool {
        let text = name.string
        return text == ".git" || text.hasPrefix(Store.temporaryPrefix)
    }

    /// Finds what a visible name stands for; nil where nothing is shown by it.
    /// - Throws: What the folder cannot be looked at for.
    public static func resolve(
        _ visible: FilePath.Component, in directory: FilePath, of root: Root,
        keeping isKeptPath: (FilePath) -> Bool = { _ in false }
    ) throws(Errno) -> BackingEntry? {
        try resolve(visible, keeping: { isKeptPath(directory.appending($0)) }) { name throws(Errno) in
            try root.statusIfPresent(of: directory.appending(name))
        }
    }

    /// As above, in a folder of which `status` tells the facts of an entry, nil where there is none.
    public static func resolve(
        _ visible: FilePath.Component, keeping isKept: (FilePath.Component) -> Bool,
        _ statusIfPresent: (FilePath.Component) throws(Errno) -> FileStatus?
    ) throws(Errno) -> BackingEntry? {
        guard !isHidden(visible) else { return nil }
        if let status = try statusIfPresent(visible) {
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
                    try statusIfPresent(name)?.kind
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
        guard let status = try statusIfPresent(suffixed) else { return nil }
        switch status.kind {
        case .regular: return BackingEntry(kind: .secret, name: suffixed, status: status)
        case .symbolicLink: return BackingEntry(kind: .symbolicLink, name: suffixed, status: status)
        case .directory, .other: return nil
        }
    }

    /// Whether a name cannot be shown for the file that has it with `.gpg`: it is hidden, or what is called so on disk is
    /// shown by it.
    private static func isTaken(
        _ name: FilePath.Component, _ isKept: (FilePath.Component) -> Bool,
        _ kind: (FilePath.Component) throws(Errno) -> EntryKind?
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
    /// - Throws: What the folder cannot be looked at for.
    public static func ofEntry(
        _ name: FilePath.Component, in directory: FilePath, of root: Root,
        keeping isKeptPath: (FilePath) -> Bool = { _ in false }
    ) throws(Errno) -> FilePath.Component? {
        func isKept(_ name: FilePath.Component) -> Bool { isKeptPath(directory.appending(name)) }
        func kind(_ name: FilePath.Component) throws(Errno) -> EntryKind? {
            try root.statusIfPresent(of: directory.appending(name))?.kind
        }
        guard !isHidden(name), let found = try kind(name), found != .other else { return nil }
        guard found != .directory, let stripped = name.strippingSuffix(), !isKept(name),
            try !isTaken(stripped, isKept, kind)
        else { return name }
        return stripped
    }

    /// The visible names of a folder's entries, with what each is on disk: everything but what is `other`.
    public static func visible(
        _ entries: [DirectoryEntry], keeping isKept: (FilePath.Component) -> Bool
    ) -> [(name: FilePath.Component, kind: EntryKind)] {
        let names = visibleNames(of: entries.map { ($0.name, $0.kind) }, keeping: isKept)
        return zip(entries, names).compactMap { entry, name in name.map { ($0, entry.kind) } }
    }

    /// The visible name of each entry of a folder, in their order; nil for what is not shown.
    static func visibleNames(
        of entries: [(name: FilePath.Component, kind: EntryKind)],
        keeping isKept: (FilePath.Component) -> Bool = { _ in false }
    ) -> [FilePath.Component?] {
        let kinds = Dictionary(
            entries.lazy.map { ($0.name, $0.kind) }, uniquingKeysWith: { first, _ in first })
        return entries.map { entry in
            guard !isHidden(entry.name), entry.kind != .other else { return nil }
            if entry.kind != .directory, let stripped = entry.name.strippingSuffix(), !isKept(entry.name),
                (try? isTaken(stripped, isKept) { kinds[$0] }) == false
            {
                return stripped
            }
            return entry.name
        }
    }
}

extension VisibleName {
    /// The path on disk of what a path in the mount stands for, relative to the store. What is not there is taken for a
    /// secret: in the history it is one, or a folder, which `StoreHistory` tells apart.
    public static func backingPath(of visible: FilePath, in root: Root) -> FilePath {
        guard let name = visible.lastComponent else { return visible }
        let folder = visible.removingLastComponent()
        if let found = (try? resolve(name, in: folder, of: root)) ?? nil {
            return folder.appending(found.name)
        }
        // A name on disk is understood, too, where it is nothing else's in the mount.
        let isName = name.strippingSuffix() != nil && (try? root.status(of: visible).kind) == .regular
        return isName ? visible : folder.appending(name.appendingSuffix())
    }

    /// The path in the mount of a file of the store; what is not there gets the one that it would have alone.
    public static func visiblePath(of backing: FilePath, in root: Root) -> FilePath {
        guard let name = backing.lastComponent else { return backing }
        let folder = backing.removingLastComponent()
        let found = (try? ofEntry(name, in: folder, of: root)) ?? nil
        return folder.appending(found ?? name.strippingSuffix() ?? name)
    }
}
