import CGit
import SystemPackage

/// libgit2 as a whole: started once in the process, never shut down.
public enum LibGit2 {
    private static let started: Void = {
        git_libgit2_init()
        // A commit that a power failure tears apart is a broken store: objects and refs are made durable.
        passdir_git_enable_fsync(1)
        // A pack of others is looked into through small windows, so that its size does not become ours.
        passdir_git_bound_windows(16 << 20, 64 << 20)
        // Three quarters hold the tree of a folder of 50,000 secrets; more would stay in a daemon that commits all day.
        passdir_git_bound_cache(4 << 20)
        passdir_git_bound_allocations(largestObject)
    }()

    /// Unless told otherwise, no object may take more memory than this many bytes.
    private static let largestObject = 256 << 20

    /// Sets how many bytes one object may take that is read into memory, or that another is a delta of; to read a larger
    /// one fails. It holds for all repositories of the process and is at least 64 MiB. Any thread.
    public static func limitObjects(toBytes bytes: Int) {
        start()
        passdir_git_bound_allocations(max(bytes, 64 << 20))
    }

    /// Starts libgit2 at the first call; every entry of this part calls it, on any thread.
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
