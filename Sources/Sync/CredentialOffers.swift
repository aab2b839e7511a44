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
        var sources: [() -> Credential?] = offered == .none ? [] : [{ self.ask(request) }]
        if offered == .all, request.allowed.contains(.sshKey) { sources += sshSources(request) }
        if offered == .all, request.allowed.contains(.usernamePassword) {
            sources.append { self.helper(request) }
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

    /// `git credential fill`, which asks the helpers of git's configuration; nothing is ever stored there.
    private func helper(_ request: CredentialRequest) -> Credential? {
        var environment = ProcessEnvironment.forGit
        environment["SSH_ASKPASS"] = nil
        environment["GIT_DIR"] = "/dev/null"
        let input = Array("url=\(request.url)\n\n".utf8)
        // core.askPass empty: a helper that knows nothing must not end in a question.
        // The answer holds a password: it goes from the pipe into secret memory, and into no array.
        var answer = SecretBuffer()
        var isWhole = true
        let outcome = try? ChildProcess.run(
            ["git", "-c", "core.askPass=", "credential", "fill"], environment: environment, directory: "/",
            input: input, timeout: .seconds(30), group: .ours
        ) { piece in
            do throws(Errno) { try answer.write(piece, at: answer.count) } catch { isWhole = false }
        }
        guard outcome?.status == 0, isWhole else { return nil }
        var name: String?
        var secret: SecretBytes?
        answer.withUnsafeBytes { bytes in
            for line in bytes.split(separator: 10) {
                guard let mark = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let value = line[(mark + 1)...]
                if line[..<mark].elementsEqual("username".utf8) {
                    name = String(decoding: value, as: UTF8.self)
                } else if line[..<mark].elementsEqual("password".utf8) {
                    secret = try? SecretBytes(copying: UnsafeRawBufferPointer(rebasing: value))
                }
            }
        }
        guard let name, let secret else { return nil }
        return .password(username: name, LentSecret { use in secret.withUnsafeBytes { use($0) } })
    }
}
