import SystemPackage

/// What a transfer asks of its caller, on the thread that runs it.
public struct TransferCallbacks: Sendable {
    /// Asked when the server wants credentials, again after each refusal; nil ends the transfer with
    /// `.authentication`. The same credential twice ends it too, as does the seventeenth.
    public var credentials: (@Sendable (CredentialRequest) -> Credential?)?
    /// Decides on a certificate or host key; without it only what libgit2 finds valid is trusted (certificates of the
    /// system's authorities, keys in `~/.ssh/known_hosts`).
    public var certificateCheck: (@Sendable (CertificateInfo) -> Bool)?
    /// Told of progress; false stops the transfer with `.cancelled`.
    public var progress: (@Sendable (TransferProgress) -> Bool)?

    /// Callbacks; what is nil is left to libgit2.
    public init(
        credentials: (@Sendable (CredentialRequest) -> Credential?)? = nil,
        certificateCheck: (@Sendable (CertificateInfo) -> Bool)? = nil,
        progress: (@Sendable (TransferProgress) -> Bool)? = nil
    ) {
        self.credentials = credentials
        self.certificateCheck = certificateCheck
        self.progress = progress
    }
}

/// A server's wish for credentials.
public struct CredentialRequest: Sendable, Equatable {
    /// The kinds that a server takes.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// libgit2's `git_credential_t` bits.
        public let rawValue: UInt32
        /// Kinds from libgit2's bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// A name and a password or token.
        public static let usernamePassword = Kinds(rawValue: 1 << 0)
        /// An SSH key, from a file or the agent.
        public static let sshKey = Kinds(rawValue: 1 << 1)
        /// Negotiate or NTLM with the session's own ticket.
        public static let negotiate = Kinds(rawValue: 1 << 3)
        /// The user name alone, asked before SSH keys when the URL has none.
        public static let username = Kinds(rawValue: 1 << 5)
    }

    /// The URL as configured.
    public var url: String
    /// The user name in the URL.
    public var usernameFromURL: String?
    /// What the server takes.
    public var allowed: Kinds
    /// How often credentials were asked for before in this transfer: more than 0 means that the last were refused
    /// (or were the user name only).
    public var attempt: Int

    /// A request of these parts.
    public init(url: String, usernameFromURL: String?, allowed: Kinds, attempt: Int) {
        self.url = url
        self.usernameFromURL = usernameFromURL
        self.allowed = allowed
        self.attempt = attempt
    }
}

/// A secret that its owner lends for the time of a call; this part keeps no copy of it.
public struct LentSecret: Sendable {
    let lend: @Sendable (_ use: (UnsafeRawBufferPointer) -> Void) -> Void

    /// - Parameter lend: calls `use` once, at once, with the bytes (no NUL among them).
    public init(_ lend: @escaping @Sendable (_ use: (UnsafeRawBufferPointer) -> Void) -> Void) {
        self.lend = lend
    }

    /// Lends the bytes for the time of the call.
    public func use(_ body: (UnsafeRawBufferPointer) -> Void) {
        lend(body)
    }
}

/// What is offered to a server.
public enum Credential: Sendable {
    /// A name and a password or token.
    case password(username: String, LentSecret)
    /// A key of the SSH agent.
    case sshAgent(username: String)
    /// A key from a file; `publicKey` may be left out where libssh2 can derive it.
    case sshKeyFile(username: String, publicKey: FilePath?, privateKey: FilePath, passphrase: LentSecret?)
    /// The user name alone.
    case username(String)
    /// The session's own ticket.
    case negotiate

    /// Tells one offer from another. A secret counts by its keyed hash, so that another password for the same name is
    /// another offer, and no copy of either is kept.
    var identity: Int {
        var hasher = Hasher()
        switch self {
        case .password(let name, let secret):
            hasher.combine("password \(name)")
            secret.lend { hasher.combine(bytes: $0) }
        case .sshAgent(let name): hasher.combine("agent \(name)")
        case .sshKeyFile(let name, _, let key, let phrase):
            hasher.combine("key \(name)")
            hasher.combine(key)
            phrase?.lend { hasher.combine(bytes: $0) }
        case .username(let name): hasher.combine("username \(name)")
        case .negotiate: hasher.combine("negotiate")
        }
        return hasher.finalize()
    }
}

/// A server's certificate or host key.
public struct CertificateInfo: Sendable, Equatable {
    /// What the server showed.
    public enum Kind: Sendable, Equatable {
        /// A TLS certificate, DER.
        case x509([UInt8])
        /// An SSH host key: as it came over the wire, and its SHA-256, where libssh2 gives them.
        case sshHostKey(raw: [UInt8]?, sha256: [UInt8]?)
        /// libgit2 tells nothing of it.
        case unknown
    }

    /// The server's name.
    public var host: String
    /// libgit2 finds it valid.
    public var isValid: Bool
    /// What the server showed.
    public var kind: Kind
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Equatable {
    /// Objects that went over the wire.
    public var objects: Int
    /// Objects in all; 0 while unknown.
    public var totalObjects: Int
    /// Bytes that went over the wire.
    public var bytes: Int

    /// Progress of these parts.
    public init(objects: Int, totalObjects: Int, bytes: Int) {
        self.objects = objects
        self.totalObjects = totalObjects
        self.bytes = bytes
    }
}
