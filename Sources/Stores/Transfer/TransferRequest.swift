public import Git
public import System
public import SystemPackage

/// How a remote is spoken to.
public enum Transport: String, Sendable, CaseIterable {
    /// libgit2, and git's own program where libgit2 cannot do it.
    case automatic = "auto"
    /// libgit2 only.
    case libgit2
    /// The git program: its helpers, ssh with its configuration.
    case git
}

/// What a server that wants credentials is offered.
public enum OfferedCredentials: String, Sendable {
    /// The store's own, then what the user has for git and ssh.
    case all
    /// The store's own only: its settings name a way to authenticate.
    case own
    /// Whatever the process that asked for the transfer says, each time that the server asks.
    case asked
    /// Nothing.
    case none
}

/// What a child process is asked for: to push, fetch or look at one branch, to clone, to list what a remote has.
public struct TransferRequest: Sendable, Equatable {
    /// What is done.
    public enum Operation: String, Sendable {
        /// Push a branch, or fetch it.
        case push, fetch
        /// Ask what the branch there leads to, and transfer nothing.
        case ask
        /// Ask what all references there lead to, and get what is needed to compare it.
        case list
        /// Clone into a folder that is absent or empty.
        case clone
    }

    /// What is done.
    public var operation: Operation
    /// The git folder of the repository; the folder to clone into.
    public var repository: FilePath
    /// The name of the remote, or its URL; always that for a list or clone.
    public var remote: String
    /// Our branch: `refs/heads/main`.
    public var localRef: String
    /// The branch there; the name of that to check out for a clone, empty for the remote's own.
    public var remoteRef: String
    /// Where a fetch puts what is there.
    public var trackingRef: String
    /// libgit2 or git, never automatic.
    public var transport: Transport
    /// What the server is offered.
    public var offers = OfferedCredentials.all
    /// How many bytes a fetch or clone may bring, and the files of a clone may take.
    public var limit = 1 << 30
    /// How many bytes a file of a clone may have.
    public var fileLimit = 0
    /// Where the branch there must be, for a push to put ours in its place; nil: anywhere that ours follows.
    public var lease: ObjectID?

    /// A request for this, of a repository and a remote.
    public init(
        _ operation: Operation, repository: FilePath, remote: String, localRef: String = "",
        remoteRef: String = "", trackingRef: String = "", transport: Transport
    ) {
        self.operation = operation
        self.repository = repository
        self.remote = remote
        self.localRef = localRef
        self.remoteRef = remoteRef
        self.trackingRef = trackingRef
        self.transport = transport
    }

    /// Whether a URL names a folder.
    public static func isFolder(_ url: String) -> Bool {
        url.hasPrefix("/") || url.hasPrefix("file:") || url.hasPrefix(".") || url.hasPrefix("~")
    }

    /// As it goes to the child process; `init(fields:)` reads it.
    var fields: [String] {
        [
            operation.rawValue, transport.rawValue, repository.string, remote, localRef, remoteRef,
            trackingRef,
            offers.rawValue, "\(limit)", "\(fileLimit)", lease?.hex ?? "-",
        ]
    }

    /// Nil when it is something else.
    init?(fields: [String]) {
        guard fields.count == 11, let operation = Operation(rawValue: fields[0]),
            let transport = Transport(rawValue: fields[1]),
            let offers = OfferedCredentials(rawValue: fields[7]), let limit = Int(fields[8]), limit > 0,
            let fileLimit = Int(fields[9])
        else { return nil }
        self.init(
            operation, repository: FilePath(fields[2]), remote: fields[3], localRef: fields[4],
            remoteRef: fields[5], trackingRef: fields[6], transport: transport)
        (self.offers, self.limit, self.fileLimit) = (offers, limit, fileLimit)
        if fields[10] != "-" {
            guard let lease = ObjectID(hex: fields[10]) else { return nil }
            self.lease = lease
        }
    }
}

/// Why a transfer failed.
public struct TransferFailure: SentenceError, Equatable {
    /// What a program tells apart.
    public enum Code: String, Sendable {
        /// The remote has commits that are not here.
        case nonFastForward
        /// The server, or a hook of it, refused.
        case rejected
        /// The server took no credentials that are known.
        case authentication
        /// A certificate or host key is not trusted.
        case certificate
        /// The server cannot be reached.
        case network
        /// The server was silent for too long.
        case timedOut
        /// The server redirects to another one, which was told nothing.
        case redirected
        /// libgit2 cannot do it.
        case unsupported
        /// What the server sent is damaged or not whole.
        case unsound
        /// The remote has no such branch yet.
        case noBranch
        /// There is no such repository.
        case notFound
        /// Nobody wants it any more.
        case cancelled
        /// Anything else.
        case other
    }

    /// What a program tells apart.
    public var code: Code
    /// One sentence without a full stop.
    public var message: String

    init(code: Code, message: String) {
        self.code = code
        self.message = GitError.withoutFullStop(message)
    }
}

extension TransferFailure.Code {
    /// What libgit2 said of a push, a fetch or a clone.
    init(_ code: GitError.Code, of operation: TransferRequest.Operation) {
        switch code {
        case .nonFastForward: self = .nonFastForward
        case .rejected: self = .rejected
        case .authentication: self = .authentication
        case .certificate: self = .certificate
        case .network: self = .network
        case .unsupported: self = .unsupported
        case .redirected: self = .redirected
        case .corrupt where operation == .fetch: self = .unsound
        case .notFound where operation == .list || operation == .clone: self = .notFound
        default: self = .other
        }
    }
}
