public import Git
import Glibc
import OpenPGP
public import Settings
import System
public import SystemPackage

/// How a store's remote is told who we are: the answer to libgit2's questions.
public struct RemoteLogin: Sendable {
    /// nil: as the URL suggests: over SSH the agent, over HTTP a kept password, then git's helpers.
    public var method: AuthenticationMethod?
    /// The user name at the remote; nil takes the URL's, over SSH `git`.
    public var userName: String?
    /// A private SSH key file.
    public var sshKey: FilePath?
    /// The password, the token or the key's passphrase; asked for when the server wants it.
    public var secret: @Sendable (CredentialKind) -> SecretBytes?

    /// A login of its parts.
    public init(
        method: AuthenticationMethod?, userName: String?, sshKey: FilePath?,
        secret: @escaping @Sendable (CredentialKind) -> SecretBytes?
    ) {
        self.method = method
        self.userName = userName
        self.sshKey = sshKey
        self.secret = secret
    }

    /// The login that a store's definition describes, with the credentials that are kept for it.
    public init(_ store: StoreDefinition, credentials: any CredentialStore) {
        let id = store.id
        self.init(method: store.authentication, userName: store.userName, sshKey: store.sshKey) { kind in
            guard let id else { return nil }
            return (try? credentials.load(storeID: id, kind: kind)).flatMap { $0 }
        }
    }

    /// What to offer to a server; nil ends the transfer.
    public func answer(_ request: CredentialRequest) -> Credential? {
        // libgit2 asks for ever; the user name alone counts as one question.
        guard request.attempt < 5 else { return nil }
        let user = userName ?? request.usernameFromURL ?? "git"
        if request.allowed.contains(.sshKey) || request.allowed.contains(.username) {
            return answerSSH(request, user)
        }
        guard request.allowed.contains(.usernamePassword) else {
            return request.allowed.contains(.negotiate) && method == nil ? .negotiate : nil
        }
        switch method {
        case .some(.none), .sshAgent, .sshKey: return nil
        case .password: return password(user)
        case .helper: return GitCredentialHelper.fill(url: request.url, userName: userName)
        case nil:
            // The second question says that the first answer was refused.
            if request.attempt == 0, let kept = password(user) { return kept }
            return GitCredentialHelper.fill(url: request.url, userName: userName)
        }
    }

    private func answerSSH(_ request: CredentialRequest, _ user: String) -> Credential? {
        if request.allowed.contains(.username), !request.allowed.contains(.sshKey) {
            return method == .some(.none) ? nil : .username(user)
        }
        switch method {
        case .some(.none), .helper: return nil
        case .password:
            return request.allowed.contains(.usernamePassword) ? password(user) : nil
        case .sshAgent: return .sshAgent(username: user)
        case .sshKey: return key(user)
        case nil:
            if sshKey != nil { return key(user) }
            // Asking an agent that is not there ends the transfer instead of leading to the next question.
            return getenv("SSH_AUTH_SOCK") == nil ? nil : .sshAgent(username: user)
        }
    }

    private func password(_ user: String) -> Credential? {
        secret(.password).map { .password(username: user, LentSecret(lending: $0)) }
    }

    private func key(_ user: String) -> Credential? {
        guard let sshKey else { return nil }
        let publicKey = FilePath(sshKey.string + ".pub")
        return .sshKeyFile(
            username: user, publicKey: access(publicKey.string, R_OK) == 0 ? publicKey : nil,
            privateKey: sshKey,
            passphrase: secret(.sshPassphrase).map { LentSecret(lending: $0) })
    }
}

extension LentSecret {
    /// Lends secret memory for the time of a call.
    public init(lending secret: SecretBytes) {
        self.init { use in secret.withUnsafeBytes { use($0) } }
    }
}
