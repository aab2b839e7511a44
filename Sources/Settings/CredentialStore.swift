import OpenPGP
public import System

/// What a store's remote asks for. A new kind is declared here and nowhere else.
public enum CredentialKind: String, Sendable, CaseIterable, Codable {
    /// The password or token of a remote over HTTPS.
    case password
    /// The passphrase of an SSH key file.
    case sshPassphrase = "ssh-passphrase"

    /// One line for `audit`.
    public var description: String {
        switch self {
        case .password: "The password or token that the store's remote asks for"
        case .sshPassphrase: "The passphrase of the SSH key that the store's remote asks for"
        }
    }
}

/// Which credential: of which store, of which kind. A store's name may change, its id does not.
public struct CredentialKey: Sendable, Hashable {
    /// The store's id, a UUID in lower case.
    public var store: String
    /// The kind.
    public var kind: CredentialKind

    /// A key of its parts.
    public init(store: String, kind: CredentialKind) {
        self.store = store
        self.kind = kind
    }
}

/// Why a credential cannot be kept or had.
public struct CredentialError: SentenceError, Equatable {
    /// The kinds of failure.
    public enum Code: Sendable, Equatable {
        /// This place is not there: no Secret Service in the session, no key of one's own.
        case unavailable
        /// It is there and said no, or the user did not unlock it.
        case refused
        /// Nobody answered in time.
        case timedOut
        /// Everything else.
        case failed
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence; never holds the credential.
    public var message: String

    /// An error of its parts.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// A place for credentials. Bytes are kept as they came. All functions block, and may ask the user to unlock the place.
public protocol CredentialStore: Sendable {
    /// What `audit` calls the place: "Secret Service".
    var place: String { get }
    /// Whether it can be used right now.
    var isAvailable: Bool { get }
    /// Keeps a credential in place of an older one. `expires`: seconds since 1970 when the server will refuse it.
    func save(_ secret: SecretBytes, as key: CredentialKey, expires: Int64?) throws(CredentialError)
    /// The credential; nil when there is none.
    func load(_ key: CredentialKey) throws(CredentialError) -> SecretBytes?
    /// Forgets a credential; no error when there is none.
    func delete(_ key: CredentialKey) throws(CredentialError)
    /// Which credentials there are, without a look at them: with the times when each was made and expires.
    func entries() throws(CredentialError) -> [CredentialKey: CredentialFacts]
    /// What lies in the place under passdir's name and is no credential of the catalogue: what each calls itself.
    func undeclared() throws(CredentialError) -> [String]
}

/// What is known of a credential without its value.
public struct CredentialFacts: Sendable, Hashable {
    /// Where it is kept.
    public var place: String
    /// Seconds since 1970 when it was kept, in place of an older one too; nil where the place does not know.
    public var made: Int64?
    /// Seconds since 1970 when it expires; nil when nothing is known of that.
    public var expires: Int64?
}

extension CredentialStore {
    /// None: a place that only takes credentials by their kind can hold no other.
    public func undeclared() throws(CredentialError) -> [String] { [] }

    /// Whether there is such a credential; asks for nothing.
    public func exists(_ key: CredentialKey) throws(CredentialError) -> Bool {
        try entries()[key] != nil
    }

    /// A store's credential of a kind; nil when there is none.
    public func load(storeID: String, kind: CredentialKind) throws(CredentialError) -> SecretBytes? {
        try load(CredentialKey(store: storeID, kind: kind))
    }

    /// Forgets all credentials of a store.
    public func deleteAll(ofStore id: String) throws(CredentialError) {
        for kind in CredentialKind.allCases { try delete(CredentialKey(store: id, kind: kind)) }
    }
}
