import Settings
import SystemPackage

/// Where the daemon's own files are.
public enum Places {
    /// The control socket. The server refuses a folder that is not ours alone.
    public static func controlSocket(environment: [String: String]) -> FilePath {
        Directories(environment: environment).runtime.appending("control")
    }

    /// The daemon's log when it runs in the background.
    public static func logFile(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending("log")
    }

    /// The lock beside the control socket.
    static func controlLock(environment: [String: String]) -> FilePath {
        FilePath(controlSocket(environment: environment).string + ".lock")
    }
}
