import Git
public import SystemPackage

/// A push, as the committer asks a child process for it.
public struct PushRequest: Sendable, Equatable {
    /// The git folder of the repository.
    public var repository: FilePath
    /// The name of the remote.
    public var remote: String
    /// What is pushed: `refs/heads/main`.
    public var localRef: String
    /// Where it goes: `refs/heads/main`.
    public var remoteRef: String

    /// The words behind the program's name that ask for this push; `init(arguments:)` reads them.
    public var arguments: [String] {
        [TransferCommand.name, "push", repository.string, remote, localRef, remoteRef]
    }

    init(repository: FilePath, remote: String, localRef: String, remoteRef: String) {
        self.repository = repository
        self.remote = remote
        self.localRef = localRef
        self.remoteRef = remoteRef
    }

    /// Reads what `arguments` wrote, without the name of the command; nil when it is something else.
    init?(arguments: [String]) {
        guard arguments.count == 5, arguments[0] == "push" else { return nil }
        self.init(
            repository: FilePath(arguments[1]), remote: arguments[2], localRef: arguments[3],
            remoteRef: arguments[4])
    }
}

/// The child process of a transfer: libgit2 has no time-outs on sockets, a process can be killed.
public enum TransferCommand {
    /// The hidden command of the program that runs a transfer.
    public static let name = "transfer"

    /// Does what `arguments`, the words behind the command's name, ask for. Returns nil on success, else the line
    /// that the committer reads from standard output.
    public static func run(_ arguments: [String]) -> String? {
        guard let request = PushRequest(arguments: arguments) else {
            return TransferFailure(
                code: .other, message: "a transfer was asked for in words that are not known"
            ).line
        }
        do {
            let repository = try Repository.open(request.repository)
            try repository.push(
                remote: request.remote, localRef: request.localRef, remoteRef: request.remoteRef,
                callbacks: TransferCallbacks(credentials: agentOnly))
            return nil
        } catch {
            return TransferFailure(code: .init(error.code), message: error.message).line
        }
    }

    /// The keys of the user's SSH agent; other credentials are not known to a store yet.
    private static let agentOnly: @Sendable (CredentialRequest) -> Credential? = { request in
        let user = request.usernameFromURL ?? "git"
        if request.allowed.contains(.sshKey) { return .sshAgent(username: user) }
        if request.allowed.contains(.username) { return .username(user) }
        return nil
    }
}

/// Why a transfer failed, as it goes from the child process to the committer: `code<TAB>sentence`.
struct TransferFailure: Error, Sendable, Equatable {
    enum Code: String, Sendable {
        case nonFastForward, rejected, authentication, certificate, network, timedOut, other

        init(_ code: GitError.Code) {
            switch code {
            case .nonFastForward: self = .nonFastForward
            case .rejected: self = .rejected
            case .authentication: self = .authentication
            case .certificate: self = .certificate
            case .network: self = .network
            default: self = .other
            }
        }
    }

    var code: Code
    var message: String

    var line: String {
        code.rawValue + "\t" + message.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    init?(line: String) {
        let parts = line.split(separator: "\t", maxSplits: 1)
        guard parts.count == 2, let code = Code(rawValue: String(parts[0])) else { return nil }
        self.init(code: code, message: String(parts[1]))
    }
}
