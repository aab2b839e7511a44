/// What a committer tells of itself.
public struct CommitterStatus: Sendable, Equatable {
    /// Whether changes reach git.
    public enum State: String, Sendable {
        /// The repository was not looked at yet.
        case starting
        /// Changes are committed.
        case ready
        /// The store is no git repository: reading and saving work.
        case noRepository
        /// Commits are off for a reason that `lastError` tells: reading and saving work.
        case noCommits
    }

    /// A commit as people refer to it.
    public struct Commit: Sendable, Equatable {
        /// Its full hexadecimal name.
        public var id: String
        /// The first line of its message.
        public var subject: String
        /// When it was made, in seconds since 1970.
        public var time: Int64
    }

    /// Whether changes reach git.
    public var state = State.starting
    /// The branch that is committed to.
    public var branch: String?
    /// Where its commits are pushed to: a URL without a password, or a path; nil where there is no remote.
    public var remote: String?
    /// Paths that wait to be committed.
    public var pendingChanges = 0
    /// Commits that the remote does not have, in `wholeStatus` with those of the repositories inside the store; 0 where there is no remote.
    public var unpushedCommits = 0
    /// The newest commit of the branch.
    public var lastCommit: Commit?
    /// When a push last went through, in seconds since 1970.
    public var lastPush: Int64?
    /// When the remote was last asked for changes, in seconds since 1970.
    public var lastFetch: Int64?
    /// What is going on with the remote right now, such as "fetching 3 of 10 objects"; nil: nothing.
    public var activity: String?
    /// Whether it is not known yet what an earlier process left uncommitted: nobody has looked, or the look goes on.
    public var isLooking = false
    /// What is no failure and yet to be known, each a sentence: a repository that is left alone, secrets that git
    /// ignores.
    public var notes: [String] = []
    /// What went wrong last and still is, as one sentence.
    public var lastError: String?

    /// What is known before anything was looked at.
    public init() {}
}
