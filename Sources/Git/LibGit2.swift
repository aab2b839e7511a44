import CGit
import SystemPackage

/// libgit2 as a whole: started once in the process, never shut down.
public enum LibGit2 {
    private static let started: Void = {
        git_libgit2_init()
        // A commit that a power failure tears apart is a broken store: objects and refs are made durable.
        passdir_git_enable_fsync(1)
    }()

    /// Starts libgit2 at the first call; every entry of this part calls it. Any thread.
    static func start() {
        _ = started
    }

    /// Trusts the certificate authorities of a file (PEM) beside the system's, as git's `http.sslCAInfo` asks.
    public static func trustCertificates(in file: FilePath) {
        start()
        _ = file.withPlatformString { passdir_git_set_certificates($0) }
    }

    /// Where libgit2 looks for the user's `.gitconfig`; the system's and XDG's files are then left out.
    ///
    /// For tests and other processes that must not see the configuration of this machine. libgit2 reads
    /// `$HOME` once, so setting the variable later changes nothing. Call it before repositories are opened.
    /// - Parameter folder: a folder that holds a `.gitconfig` or nothing; it need not exist.
    public static func setGlobalConfigSearchPath(_ folder: FilePath) {
        start()
        _ = folder.withPlatformString { passdir_git_set_search_path(GIT_CONFIG_LEVEL_GLOBAL, $0) }
        for level in [GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_PROGRAMDATA] {
            _ = passdir_git_set_search_path(level, "")
        }
    }
}
