import Fuse
import Glibc
import SystemPackage

/// The names that editors and tools give to files of their own: swap, lock, backup and probe files.
///
/// A file of such a name lives in memory only (a scratch file). The table holds only names that nobody gives to a
/// secret. The random names that `sed -i`, `rsync`, `patch` and the like make (`sedAbCdEf`, `.f.AbCdEf`) could be a
/// secret's: they are encrypted like any other, and as they are renamed before the commit, git never sees them.
struct ScratchNames: Sendable {
    /// Shell patterns (fnmatch(3)) and who makes such names.
    static let known: [(pattern: String, maker: String)] = [
        (".*.sw[a-z]", "vim, nano: swap"),
        (".*.swpx", "vim: probe for the swap file"),
        ("*~", "vim, neovim, emacs, nano, patch: backup; vim: undo (.f.un~)"),
        (".#*", "emacs: lock"),
        ("#*#", "emacs: autosave"),
        (".goutputstream-" + random(6), "GIO: gedit, GNOME"),
        (".*.kate-swp", "Kate: swap"),
        ("*" + random(6) + ".bck", "helix: backup"),
        ("*.vsctmp", "VS Code"),
        ("*___jb_tmp___", "JetBrains: new version"),
        ("*___jb_old___", "JetBrains: old version"),
        (".~lock.*#", "LibreOffice: lock"),
        ("lu*.tmp", "LibreOffice"),
        (".syncthing.*.tmp", "Syncthing"),
        ("~syncthing~*.tmp", "Syncthing"),
        (".unison.*", "unison"),
        (".fuse_hidden*", "libfuse's high-level interface"),
    ]

    /// Names of files that are made to see whether one can be made, and removed at once. One that stays empty is not
    /// saved; one that is written to is a secret.
    static let probes: Set<String> = ["4913"]

    private let patterns: [String]

    /// The known patterns and those of the setting `mount.scratch`.
    init(additional: [String] = []) {
        patterns = Self.known.map(\.pattern) + additional
    }

    /// Whether a file of this name lives in memory only.
    func match(_ name: Name) -> Bool {
        name.withPlatformString { name in patterns.contains { fnmatch($0, name, 0) == 0 } }
    }

    private static func random(_ count: Int) -> String {
        String(repeating: "[A-Za-z0-9]", count: count)
    }
}
