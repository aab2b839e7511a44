import Glibc
import SystemPackage

/// Where the daemon's own files are, by the XDG base directory specification.
public enum Places {
    /// The control socket: `$XDG_RUNTIME_DIR/passdir/control`.
    ///
    /// Without that variable: in `/run/user/UID` where it exists, else in `/tmp/passdir-UID`, which the server
    /// refuses unless it is ours alone.
    public static func controlSocket(environment: [String: String]) -> FilePath {
        runtimeFolder(environment: environment).appending("control")
    }

    /// The daemon's log when it runs in the background: `$XDG_STATE_HOME/passdir/log`.
    public static func logFile(environment: [String: String]) -> FilePath {
        stateFolder(environment: environment).appending("log")
    }

    /// What is learned and may be lost: `$XDG_STATE_HOME/passdir`, else `~/.local/state/passdir`.
    public static func stateFolder(environment: [String: String]) -> FilePath {
        let base = absolute(environment["XDG_STATE_HOME"]) ?? home(environment).appending(".local/state")
        return base.appending("passdir")
    }

    /// The lock beside the control socket.
    static func controlLock(environment: [String: String]) -> FilePath {
        FilePath(controlSocket(environment: environment).string + ".lock")
    }

    private static func runtimeFolder(environment: [String: String]) -> FilePath {
        if let folder = absolute(environment["XDG_RUNTIME_DIR"]) { return folder.appending("passdir") }
        let user = geteuid()
        let system = FilePath("/run/user/\(user)")
        return access(system.string, W_OK) == 0
            ? system.appending("passdir") : FilePath("/tmp/passdir-\(user)")
    }

    /// The home folder: `$HOME`, else what the system's user database says.
    static func home(_ environment: [String: String]) -> FilePath {
        if let home = absolute(environment["HOME"]) { return home }
        guard let entry = getpwuid(geteuid()), let folder = entry.pointee.pw_dir else { return "/" }
        return FilePath(platformString: folder)
    }

    /// The specification: a path that is not absolute is invalid and to be ignored.
    private static func absolute(_ value: String?) -> FilePath? {
        guard let value, value.hasPrefix("/") else { return nil }
        return FilePath(value)
    }
}
