import Git
import Glibc
import OpenPGP
import Synchronization
import System
import SystemPackage

/// What a server is offered, in this order and each once: what the store's settings hold, the SSH agent, the user's
/// usual SSH keys, what git's own credential helpers know. Where the settings name a way, that one only.
final class CredentialOffers: Sendable {
    private let channel: TransferChannel
    private let offered: OfferedCredentials
    private let passed = Mutex(0)

    init(channel: TransferChannel, _ offered: OfferedCredentials) {
        self.channel = channel
        self.offered = offered
    }

    func next(_ request: CredentialRequest) -> Credential? {
        if offered == .asked { return ask(request) }
        var sources: [() -> Credential?] = offered == .none ? [] : [{ self.ask(request) }]
        if offered == .all, request.allowed.contains(.sshKey) { sources += sshSources(request) }
        if offered == .all, request.allowed.contains(.usernamePassword) {
            sources.append { GitCredentialHelper.fill(url: request.url, group: .ours) }
        }
        if request.allowed == .username { return .username(request.usernameFromURL ?? "git") }
        while true {
            let number = passed.withLock { number in
                defer { number += 1 }
                return number
            }
            guard number < sources.count else { return nil }
            if let offer = sources[number]() { return offer }
        }
    }

    private func ask(_ request: CredentialRequest) -> Credential? {
        channel.send(.wanted(request))
        return channel.receiveCredential()
    }

    private func sshSources(_ request: CredentialRequest) -> [() -> Credential?] {
        let user = request.usernameFromURL ?? "git"
        let agent: () -> Credential? = {
            guard let socket = getenv("SSH_AUTH_SOCK"), socket.pointee != 0 else { return nil }
            return .sshAgent(username: user)
        }
        let home = FilePath(getenv("HOME").map { String(cString: $0) } ?? "/")
        return [agent]
            + ["id_ed25519", "id_ecdsa"].map { name in
                {
                    let file = home.pushing(FilePath(".ssh/\(name)"))
                    guard access(file.string, R_OK) == 0 else { return nil }
                    return .sshKeyFile(username: user, publicKey: nil, privateKey: file, passphrase: nil)
                }
            }
    }
}
