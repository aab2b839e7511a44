import Git
import SystemPackage

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
    /// Nothing.
    case none
}

/// A push or fetch of one branch, or a look at it, as the committer asks a child process for it.
struct TransferRequest: Sendable, Equatable {
    enum Operation: String, Sendable {
        case push, fetch
        /// Ask what the branch there leads to, and transfer nothing.
        case ask
    }

    var operation: Operation
    /// The git folder of the repository.
    var repository: FilePath
    /// The name of the remote, or its URL.
    var remote: String
    /// Our branch: `refs/heads/main`.
    var localRef: String
    /// The branch there.
    var remoteRef: String
    /// Where a fetch puts what is there.
    var trackingRef: String
    /// libgit2 or git, never automatic.
    var transport: Transport
    /// What the server is offered.
    var offers = OfferedCredentials.all
    /// How many bytes a fetch may bring.
    var limit = 1 << 30
    /// Where the branch there must be, for a push to put ours in its place; nil: anywhere that ours follows.
    var lease: ObjectID?

    /// The words behind the program's name that ask for it; `init(arguments:)` reads them.
    var arguments: [String] {
        [
            TransferCommand.name, operation.rawValue, transport.rawValue, repository.string, remote, localRef,
            remoteRef, trackingRef, offers.rawValue, "\(limit)",
            lease?.hex ?? "-",
        ]
    }

    /// Whether a URL names a folder.
    static func isFolder(_ url: String) -> Bool {
        url.hasPrefix("/") || url.hasPrefix("file:") || url.hasPrefix(".") || url.hasPrefix("~")
    }

    init(
        _ operation: Operation, repository: FilePath, remote: String, localRef: String, remoteRef: String,
        trackingRef: String, transport: Transport
    ) {
        self.operation = operation
        self.repository = repository
        self.remote = remote
        self.localRef = localRef
        self.remoteRef = remoteRef
        self.trackingRef = trackingRef
        self.transport = transport
    }

    /// Reads what `arguments` wrote, without the name of the command; nil when it is something else.
    init?(arguments: [String]) {
        guard arguments.count == 10, let limit = Int(arguments[8]), limit > 0,
            let offers = OfferedCredentials(rawValue: arguments[7]),
            let operation = Operation(rawValue: arguments[0]),
            let transport = Transport(rawValue: arguments[1])
        else { return nil }
        self.init(
            operation, repository: FilePath(arguments[2]), remote: arguments[3], localRef: arguments[4],
            remoteRef: arguments[5], trackingRef: arguments[6], transport: transport)
        self.offers = offers
        self.limit = limit
        if arguments[9] != "-" {
            guard let lease = ObjectID(hex: arguments[9]) else { return nil }
            self.lease = lease
        }
    }
}

/// Why a transfer failed.
struct TransferFailure: Error, Sendable, Equatable {
    enum Code: String, Sendable {
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
        case timedOut
        /// The server redirects to another one, which was told nothing.
        case redirected
        /// libgit2 cannot do it.
        case unsupported
        /// What the server sent is damaged or not whole.
        case unsound
        /// The remote has no such branch yet.
        case noBranch
        case other

        init(_ code: GitError.Code) {
            switch code {
            case .nonFastForward: self = .nonFastForward
            case .rejected: self = .rejected
            case .authentication: self = .authentication
            case .certificate: self = .certificate
            case .network: self = .network
            case .unsupported: self = .unsupported
            case .redirected: self = .redirected
            default: self = .other
            }
        }
    }

    var code: Code
    /// One sentence without a full stop.
    var message: String

    init(code: Code, message: String) {
        self.code = code
        self.message = GitError.withoutFullStop(message)
    }
}
