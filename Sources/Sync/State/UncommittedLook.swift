import Git
import SystemPackage

/// One comparison of a working tree with its newest commit, on whatever thread.
struct UncommittedLook: Sendable {
    /// What came of it.
    enum Result: Sendable {
        /// What `git status` lists, which files no commit takes (`RefusedFiles`), and where HEAD was before and after.
        case found([WorkingTreeChange], refused: [FilePath: Refusal], before: Head, after: Head)
        /// A git program was at work: in the middle of a checkout there are files that nobody edited, and committing
        /// them would put them onto the wrong branch.
        case disturbed
        case failed(GitError)
    }

    private let top: FilePath

    init(_ part: RepositoryPart) {
        top = part.top
    }

    /// Takes as long as it takes to look at each file.
    func result() -> Result {
        GitTraffic.waitForQuiet(in: top)
        guard !GitTraffic.isBusy(top) else { return .disturbed }
        do throws(GitError) {
            // A repository object stays with the thread that opened it.
            guard let repository = try Repository.open(workingTree: top) else { return .disturbed }
            let before = try repository.head()
            let changes = try repository.changes(includingIgnored: true)
            let after = try repository.head()
            let submodules = try repository.stagedSubmodules()
            let refused = RefusedFiles(top: top, submodules: submodules)?.all ?? [:]
            if changes.isEmpty { return .found([], refused: refused, before: before, after: before) }
            return GitTraffic.isBusy(top)
                ? .disturbed : .found(changes, refused: refused, before: before, after: after)
        } catch {
            return .failed(error)
        }
    }
}
