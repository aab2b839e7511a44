import CGit
import System
import SystemPackage

/// A git repository, through libgit2.
///
/// This part knows git and nothing of password stores. The way to commit a few changed paths without a scan of
/// the working tree, safe beside a user who works with `git` at the same time, is:
///
///     let (tree, changes) = try repository.preparedTree(parent: tip, paths: paths)
///     try repository.updateIndex(paths: changes.map(\.path), to: tree)   // .locked: all again, later
///     let commit = try repository.makeCommit(tree: tree, parents: [tip], …)
///     try repository.move(ref, from: tip, to: commit, …)                 // .modified: all again, on the new tip
///
/// The index goes first: were the branch moved first, a `git commit` of the user in between would take the old
/// content from the index and so undo the change.
///
/// Not Sendable: an object stays with the executor that opened it. Paths inside the repository are relative to
/// its top; a `FilePath` holds any bytes, as git does.
public final class Repository {
    let pointer: OpaquePointer
    /// Runs the programs that change a file's content on its way to git and back; without it none is run.
    public var conversionProgram: (@Sendable (ConversionRequest) throws(GitError) -> [UInt8])?

    /// Takes over a `git_repository`.
    private init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        git_repository_free(pointer)
    }

    /// Opens what lies at exactly this place; nothing is searched.
    ///
    /// A folder with an entry `.git` is a working tree, which is opened as `open(workingTree:)` does; every other folder
    /// must be a git directory itself, as a bare repository is. A folder whose content others write must be opened by
    /// `open(workingTree:)`, which never takes the folder itself for a git directory.
    /// - Throws: `.notFound`, `.unsupported` (for example a SHA-256 repository), `.corrupt`, `.untrustedOwner`.
    public static func open(_ path: FilePath) throws(GitError) -> Repository {
        if let repository = try open(workingTree: path) { return repository }
        return try open(gitDirectory: path)
    }

    /// The repository whose git directory, or file with a link to one, is exactly this path.
    /// - Throws: as `open`.
    public static func open(gitDirectory path: FilePath) throws(GitError) -> Repository {
        try open(path, flags: 0)
    }

    /// The repository whose git directory is exactly this path, without its working tree, which may be gone.
    /// - Throws: as `open`.
    public static func open(bare path: FilePath) throws(GitError) -> Repository {
        try open(path, flags: GIT_REPOSITORY_OPEN_BARE.rawValue)
    }

    private static func open(_ path: FilePath, flags: UInt32) throws(GitError) -> Repository {
        LibGit2.start()
        var made: OpaquePointer?
        // NO_DOTGIT: else libgit2 would try `PATH/.git` first, and after it the folder itself.
        let flags =
            flags | GIT_REPOSITORY_OPEN_NO_SEARCH.rawValue | GIT_REPOSITORY_OPEN_NO_DOTGIT.rawValue
        let code = path.withPlatformString { git_repository_open_ext(&made, $0, flags, nil) }
        try check(code, "cannot open the repository at \(path)")
        return Repository(owning: made!)
    }

    /// Makes an empty repository, with the folders above it.
    /// - Parameter branch: the name of its first branch; nil takes `init.defaultBranch`, or else `master`.
    public static func create(
        _ path: FilePath, bare: Bool = false, branch: String? = nil
    ) throws(GitError) -> Repository {
        LibGit2.start()
        var options = git_repository_init_options()
        git_repository_init_options_init(&options, UInt32(GIT_REPOSITORY_INIT_OPTIONS_VERSION))
        options.flags = GIT_REPOSITORY_INIT_MKPATH.rawValue
        if bare { options.flags |= GIT_REPOSITORY_INIT_BARE.rawValue }
        var made: OpaquePointer?
        let code = path.withPlatformString { place in
            guard let branch else { return git_repository_init_ext(&made, place, &options) }
            return branch.withCString { name in
                options.initial_head = name
                return git_repository_init_ext(&made, place, &options)
            }
        }
        try check(code, "cannot create a repository at \(path)")
        return Repository(owning: made!)
    }

    /// Clones `url` into the folder `path`, which must be absent or empty.
    /// - Parameters:
    ///   - branch: the branch to check out; nil takes the remote's own.
    ///   - bounds: what the branch may hold; it is looked through before the first file is written.
    /// - Throws: `.invalid` when the branch holds what must not be checked out; see `checkIncoming`.
    public static func clone(
        _ url: String, to path: FilePath, branch: String? = nil, bounds: TreeBounds? = nil,
        callbacks: TransferCallbacks = .init()
    ) throws(GitError) -> Repository {
        LibGit2.start()
        var options = git_clone_options()
        git_clone_options_init(&options, UInt32(GIT_CLONE_OPTIONS_VERSION))
        options.fetch_opts.proxy_opts.type = GIT_PROXY_AUTO
        options.checkout_opts.checkout_strategy = GIT_CHECKOUT_NONE.rawValue
        var made: OpaquePointer?
        options.fetch_opts.follow_redirects = GIT_REMOTE_REDIRECT_NONE
        let transfer = Transfer(
            callbacks, url: url, proxies: UserConfiguration.proxies(try? ConfigSnapshot()))
        try transfer.run("cannot clone \(GitError.withoutPasswords(url))") { remoteCallbacks in
            options.fetch_opts.callbacks = remoteCallbacks
            return path.withPlatformString { place in
                guard let branch else { return git_clone(&made, url, place, &options) }
                let code = branch.withCString { name in
                    options.checkout_branch = name
                    defer { options.checkout_branch = nil }
                    git_error_clear()
                    return git_clone(&made, url, place, &options)
                }
                // Where the remote's HEAD names no branch libgit2 says so, and no more; a branch that is not there it names.
                let said: UnsafePointer<git_error>? = git_error_last()
                let isSilent = said == nil || said?.pointee.klass == Int32(GIT_ERROR_NONE.rawValue)
                return code == GIT_ENOTFOUND.rawValue && isSilent
                    ? git_clone(&made, url, place, &options) : code
            }
        }
        let repository = Repository(owning: made!)
        try repository.giveBranch(branch, url)
        try repository.checkOutClone(url, bounds)
        return repository
    }

    /// Checks that a clone has a branch where its remote has one, and takes the one that is wanted where HEAD of the remote
    /// names none.
    private func giveBranch(_ wanted: String?, _ url: String) throws(GitError) {
        guard case .branch(_, _, nil) = try head() else { return }
        let prefix = "refs/remotes/origin/"
        let branches = try namedTips().compactMap { tip in
            tip.name.hasPrefix(prefix)
                ? (name: String(tip.name.dropFirst(prefix.count)), id: tip.target) : nil
        }
        guard let first = branches.first else { return }
        let doing = "cannot clone \(GitError.withoutPasswords(url))"
        guard let branch = branches.first(where: { $0.name == wanted }) else {
            let more = branches.count > 1 ? ", of \(branches.count)" : ""
            throw GitError(
                code: .notFound,
                message: "\(doing): "
                    + (wanted.map { "it has no branch \"\($0)\"" }
                        ?? "its HEAD names a branch that does not exist")
                    + "; --branch names one, such as \(first.name)\(more)")
        }
        let ref = "refs/heads/" + branch.name
        try set(ref, to: branch.id)
        try check(git_repository_set_head(pointer, ref), doing)
        let local = try Owned(doing, free: git_reference_free) { git_reference_lookup(&$0, pointer, ref) }
        try check(git_branch_set_upstream(local.pointer, "origin/" + branch.name), doing)
    }

    private func checkOutClone(_ url: String, _ bounds: TreeBounds?) throws(GitError) {
        let doing = "cannot clone \(GitError.withoutPasswords(url))"
        // An empty remote has nothing to check out.
        guard case .branch(_, _, let tip?) = try head() else { return }
        if let bounds {
            try rethrowing(checkIncoming(tip, known: [], bounds: bounds)) { (error: GitError) in
                GitError(code: error.code, message: "\(doing): \(error.message)")
            }
        }
        var options = git_checkout_options()
        git_checkout_options_init(&options, UInt32(GIT_CHECKOUT_OPTIONS_VERSION))
        options.checkout_strategy = GIT_CHECKOUT_SAFE.rawValue | GIT_CHECKOUT_RECREATE_MISSING.rawValue
        // What `.gitattributes` asks for would change ciphertexts.
        options.disable_filters = 1
        try check(git_checkout_head(pointer, &options), doing)
    }

    /// The top of the working tree; nil for a bare repository.
    public var workingDirectory: FilePath? {
        git_repository_workdir(pointer).map { FilePath(platformString: $0) }
    }

    /// The `.git` folder; of a linked worktree, its own folder under the main one's `worktrees`.
    public var gitDirectory: FilePath {
        FilePath(platformString: git_repository_path(pointer))
    }

    /// The repository has no working tree.
    public var isBare: Bool { git_repository_is_bare(pointer) != 0 }

    /// Part of the history was left out when it was cloned.
    public var isShallow: Bool { git_repository_is_shallow(pointer) == 1 }

    /// What a user has begun and not finished, as a noun with its article: leave the branch alone.
    public var operation: String? {
        switch git_repository_state_t(UInt32(git_repository_state(pointer))) {
        case GIT_REPOSITORY_STATE_NONE: nil
        case GIT_REPOSITORY_STATE_MERGE: "a merge"
        case GIT_REPOSITORY_STATE_REVERT, GIT_REPOSITORY_STATE_REVERT_SEQUENCE: "a revert"
        case GIT_REPOSITORY_STATE_CHERRYPICK, GIT_REPOSITORY_STATE_CHERRYPICK_SEQUENCE: "a cherry-pick"
        case GIT_REPOSITORY_STATE_BISECT: "a bisect"
        default: "a rebase"
        }
    }

    /// How a user ends `operation` where files lie changed that it has nothing to do with, as a part of a sentence: git goes
    /// on with no rebase before these are committed.
    public var wayOut: String {
        if isRebaseUnbegun {
            return "git stopped before it began: run git rebase --quit, "
                + "which puts what was stashed in git stash list"
        }
        return switch git_repository_state_t(UInt32(git_repository_state(pointer))) {
        case GIT_REPOSITORY_STATE_REBASE_INTERACTIVE, GIT_REPOSITORY_STATE_REBASE_MERGE:
            "resolve its conflicts, if any, then run git commit -a to include what was saved, and git rebase --continue"
        default:
            "finish it with git; if git refuses because of a file that was saved in the meantime, git checkout "
                + "of that file lets it continue, and what was saved is kept as a conflict"
        }
    }

    /// Whether `git rebase --autostash` has stashed and no more: neither `--continue` nor `--abort` know what to do with it.
    private var isRebaseUnbegun: Bool {
        ["rebase-merge", "rebase-apply"].contains { name in
            let folder = gitDirectory.appending(name)
            return folder.appending("autostash").facts() != nil
                && folder.appending("head-name").facts() == nil
        }
    }
}
