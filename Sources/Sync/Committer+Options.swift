public import Git
public import Stores
public import SystemPackage

extension Committer {
    /// How a committer works.
    public struct Options: Sendable {
        /// How long changes gather before they are committed (`commit.delay`).
        public var delay: Duration
        /// One commit for each secret instead of one for all that gathered (`commit.each`).
        public var commitsEach = false
        /// How long a remote may be silent in a push or fetch (`push.timeout`).
        public var pushTimeout: Duration
        /// How often the remote is asked for changes (`sync.interval`); nil: only when something is pushed.
        public var interval: Duration?
        /// How the remote is spoken to (`sync.transport`).
        public var transport = Transport.automatic
        /// Our commits are told anew on the remote's tip instead of being merged (`sync.integration`).
        public var rebases = false
        /// The program whose `transfer` command pushes and fetches: our own.
        public var program: FilePath
        /// What a server that wants credentials is offered first; called on a thread that may wait.
        public var credentials: (@Sendable (CredentialRequest) -> Credential?)?
        /// How many bytes a fetch may bring, and how many the files in it may take (`limits.transfer`).
        public var transferLimit = 1 << 30
        /// What a server is offered.
        public var offers = OfferedCredentials.all
        /// The user's own OpenPGP key (`store.NAME.key`): signs commits where `user.signingkey` names none.
        public var ownKey: String?
        /// Who commits, above git's configuration: as the environment of a command says.
        public var identity = GivenIdentity()
        /// What the configuration says of the remote and the branch; it steers nothing, and `status` tells where the
        /// repository says something else.
        public var configuredURL: String?
        /// As `configuredURL`.
        public var configuredBranch: String?
        /// Tells the user something that cannot wait for `status`: the store's name, a sentence.
        public var notify: @Sendable (String, String) -> Void = { _, _ in }

        /// Called with the folders in which something changes when the branch moves, whoever moves it, as soon as they are
        /// known; whoever watches them calls `branchMayHaveMoved(isStash:)`.
        public var branchFolders: (@Sendable ([FilePath]) -> Void)?

        /// Keeps what was learned of the store, such as the time of a push, where the store itself keeps nothing: a command
        /// beside a daemon, which tells it in `status`. The name of the fact, its value.
        public var keepFact: (@Sendable (String, String) -> Void)?

        /// Whether what others left uncommitted in the store is looked for; a command that commits one change does not.
        public var recovers = true

        /// Whether git is asked to pack the repositories when that is due: by who is there for as long as that takes.
        public var packs = false

        /// Options from their values.
        public init(delay: Duration, pushTimeout: Duration, program: FilePath) {
            self.delay = delay
            self.pushTimeout = pushTimeout
            self.program = program
        }
    }
}
