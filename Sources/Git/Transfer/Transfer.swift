import CGit
import Glibc
import SystemPackage

/// One fetch, push or clone under way: the target of libgit2's callbacks and the memory of what they said.
final class Transfer {
    private let callbacks: TransferCallbacks
    private let url: String
    private let boundary: ServerBoundary?
    private let lease: ObjectID?
    private var offered: Set<Int> = []
    private var attempts = 0
    private var failure: GitError?
    /// What the server printed (`remote: …`), for the sentence about a refusal.
    private var serverText: [UInt8] = []
    private var heard = 0
    private var refusals: [(ref: String, reason: String)] = []

    /// Parts of libgit2's messages for failures of a connection that it files under "operating system".
    private static let breaks = ["connect", "socket", "resolve", "timed out"]

    /// - Parameters:
    ///   - url: the remote's, which says who may be talked to.
    ///   - proxies: those that the user configured.
    ///   - lease: what a push replaces; it fails with `.nonFastForward` where the branch is elsewhere.
    init(_ callbacks: TransferCallbacks, url: String, proxies: [String], lease: ObjectID? = nil) {
        self.callbacks = callbacks
        self.url = url
        self.lease = lease
        boundary = ServerBoundary(url, proxies: proxies)
    }

    /// Runs a transfer; what a callback found wrong goes before what libgit2 says of it.
    func run(_ doing: String, _ body: (git_remote_callbacks) -> Int32) throws(GitError) {
        var remote = git_remote_callbacks()
        git_remote_init_callbacks(&remote, UInt32(GIT_REMOTE_CALLBACKS_VERSION))
        install(in: &remote)
        let code = withExtendedLifetime(self) { ServerBoundary.around(boundary) { body(remote) } }
        if code < 0, let failure {
            git_error_clear()
            throw GitError(
                code: failure.code, message: "\(doing): \(failure.message)", libgit2Code: code)
        }
        if code < 0 {
            var error = GitError.last(code, doing)
            if let elsewhere = boundary?.refused ?? Self.redirection(in: error.message) {
                error.code = .redirected
                error.message =
                    "\(doing): the server redirects to \(elsewhere), which passdir does not follow"
            }
            if boundary?.isEndless == true {
                error.code = .network
                error.message = "\(doing): the server keeps sending data that was not requested"
            }
            if error.code == .other, Transfer.breaks.contains(where: { error.message.contains($0) }) {
                error.code = .network
            }
            if isMissingPath(error, doing) {
                error.code = .notFound
                error.message =
                    "\(doing): there is no repository at this path; correct it, or make one there with git init --bare"
            }
            // Before it says anything of the failure, a server of git:// or SSH may just hang up.
            if error.code == .other, !serverText.isEmpty { error.message += ": \(printed)" }
            throw error
        }
        if let first = refusals.first { throw refusal(first.ref, first.reason, doing) }
    }

    /// Whether libgit2 says of a path that it is no repository. One that is not there looks to it, without a scheme, like a URL of
    /// a kind that it doesn't know.
    private func isMissingPath(_ error: GitError, _ doing: String) -> Bool {
        guard url.contains("://") else {
            return error.message.hasSuffix("unsupported URL protocol")
                || error.message.hasPrefix("\(doing): could not find repository")
        }
        return error.message.hasPrefix("\(doing): could not find repository")
            || error.message.hasPrefix("\(doing): failed to resolve path")
                && [Errno.noSuchFileOrDirectory, .notDirectory].contains { error.message.hasSuffix("\($0)") }
    }

    /// Where libgit2 says that it did not follow the server to.
    private static func redirection(in message: String) -> String? {
        if message.hasSuffix("unexpected redirect") { return "another place" }
        guard let start = message.firstRange(of: "cannot redirect from '"),
            let middle = message[start.upperBound...].firstRange(of: "' to '")
        else { return nil }
        return String(message[middle.upperBound...].prefix { $0 != "'" })
    }

    /// A status that push_update_reference brought: libgit2 itself returns 0 then.
    private func refusal(_ ref: String, _ reason: String, _ doing: String) -> GitError {
        let behind = ["non-fast-forward", "fetch first", "incorrect old value", "stale info"]
        let isBehind =
            behind.contains { reason.contains($0) } || GitError.isOvertaken(reason)
            || GitError.isOvertaken(printed)
        let code: GitError.Code = isBehind ? .nonFastForward : .rejected
        let said = printed.isEmpty ? "" : ": \(printed)"
        return GitError(
            code: code, message: "\(doing): the server refused \(ref): \(GitError.cleaned(reason))\(said)")
    }

    private var printed: String {
        GitError.cleaned(String(decoding: serverText, as: UTF8.self))
    }

    private func install(in remote: inout git_remote_callbacks) {
        remote.payload = Unmanaged.passUnretained(self).toOpaque()
        remote.sideband_progress = { text, length, payload in
            Transfer.of(payload).hear(UnsafeRawBufferPointer(start: text, count: Int(length)))
        }
        remote.push_update_reference = { ref, status, payload in
            guard let ref, let status else { return 0 }
            Transfer.of(payload).refusals.append((String(cString: ref), String(cString: status)))
            return 0
        }
        if lease != nil {
            // The server then changes the branch only if it still is where it said that it is.
            remote.push_negotiation = { updates, count, payload in
                let transfer = Transfer.of(payload)
                for index in 0..<count
                where updates?[index].map({ ObjectID($0.pointee.src) }) != transfer.lease {
                    transfer.failure = GitError(
                        code: .nonFastForward, message: "the branch there has moved again in the meantime")
                    return GIT_EUSER.rawValue
                }
                return 0
            }
        }
        remote.credentials = { result, url, username, allowed, payload in
            let request = CredentialRequest(
                url: url.map { String(cString: $0) } ?? "",
                usernameFromURL: username.map { String(cString: $0) },
                allowed: CredentialRequest.Kinds(rawValue: allowed), attempt: 0)
            return Transfer.of(payload).offer(request, result!)
        }
        if callbacks.certificateCheck != nil {
            remote.certificate_check = { certificate, valid, host, payload in
                Transfer.of(payload).judge(certificate, valid != 0, host.map { String(cString: $0) } ?? "")
            }
        }
        remote.transfer_progress = { stats, payload in
            guard let stats = stats?.pointee else { return 0 }
            return Transfer.of(payload).tell(
                Int(stats.received_objects), Int(stats.total_objects), stats.received_bytes)
        }
        remote.push_transfer_progress = { current, total, bytes, payload in
            Transfer.of(payload).tell(Int(current), Int(total), bytes)
        }
    }

    private static func of(_ payload: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(payload!).takeUnretainedValue()
    }

    /// What a server may print; hooks are talkative, but not like this.
    private static let wordLimit = 1 << 20

    private func hear(_ text: UnsafeRawBufferPointer) -> Int32 {
        heard += text.count
        guard heard <= Self.wordLimit else {
            failure = GitError(code: .network, message: "the server talks without end")
            return GIT_EUSER.rawValue
        }
        // A sentence needs no more.
        serverText.append(contentsOf: text.prefix(2000 - min(2000, serverText.count)))
        return 0
    }

    private func tell(_ objects: Int, _ total: Int, _ bytes: Int) -> Int32 {
        boundary?.note(objects: objects, of: total)
        let goOn = callbacks.progress?(
            TransferProgress(objects: objects, totalObjects: total, bytes: bytes))
        guard goOn == false else { return 0 }
        failure = GitError(code: .cancelled, message: "stopped")
        return GIT_EUSER.rawValue
    }

    /// libgit2 asks for ever while the server refuses: each credential is offered once.
    private func offer(
        _ request: CredentialRequest, _ result: UnsafeMutablePointer<UnsafeMutablePointer<git_credential>?>
    ) -> Int32 {
        var request = request
        request.attempt = attempts
        attempts += 1
        let refused = attempts > 1 ? "the server refused the credentials" : "the server wants credentials"
        guard let credential = callbacks.credentials?(request) else { return deny("\(refused)") }
        guard offered.insert(credential.identity).inserted, attempts <= 16 else {
            return deny("the server refused the credentials")
        }
        let code = credential.make(result)
        return code < 0 ? deny("the credentials cannot be used") : 0
    }

    private func deny(_ message: String) -> Int32 {
        failure = GitError(code: .authentication, message: message)
        return GIT_EAUTH.rawValue
    }

    private func judge(_ certificate: UnsafeMutablePointer<git_cert>?, _ valid: Bool, _ host: String) -> Int32
    {
        let info = CertificateInfo(host: host, isValid: valid, kind: CertificateInfo.Kind(certificate))
        if callbacks.certificateCheck?(info) == true { return 0 }
        failure = GitError(code: .certificate, message: "the certificate or key of \(host) is not trusted")
        return GIT_ECERTIFICATE.rawValue
    }
}

extension CertificateInfo.Kind {
    fileprivate init(_ certificate: UnsafeMutablePointer<git_cert>?) {
        guard let certificate else {
            self = .unknown
            return
        }
        let raw = UnsafeRawPointer(certificate)
        switch certificate.pointee.cert_type {
        case GIT_CERT_X509:
            let x509 = raw.assumingMemoryBound(to: git_cert_x509.self).pointee
            self = .x509(Array(UnsafeRawBufferPointer(start: x509.data, count: x509.len)))
        case GIT_CERT_HOSTKEY_LIBSSH2:
            let key = raw.assumingMemoryBound(to: git_cert_hostkey.self).pointee
            let has = { (bit: git_cert_ssh_t) in key.type.rawValue & bit.rawValue != 0 }
            self = .sshHostKey(
                raw: has(GIT_CERT_SSH_RAW)
                    ? Array(UnsafeRawBufferPointer(start: key.hostkey, count: key.hostkey_len)) : nil,
                sha256: has(GIT_CERT_SSH_SHA256) ? withUnsafeBytes(of: key.hash_sha256) { Array($0) } : nil)
        default: self = .unknown
        }
    }
}

extension Credential {
    /// libgit2's form of it; libgit2 copies the secret, and wipes its copy when it frees it.
    fileprivate func make(_ result: UnsafeMutablePointer<UnsafeMutablePointer<git_credential>?>) -> Int32 {
        switch self {
        case .password(let name, let secret):
            secret.withCString { git_credential_userpass_plaintext_new(result, name, $0) }
        case .sshAgent(let name): git_credential_ssh_key_from_agent(result, name)
        case .sshKeyFile(let name, let publicKey, let privateKey, let passphrase):
            privateKey.withPlatformString { key in
                Credential.lend(publicKey) { pub in
                    guard let passphrase else {
                        return git_credential_ssh_key_new(result, name, pub, key, nil)
                    }
                    return passphrase.withCString { git_credential_ssh_key_new(result, name, pub, key, $0) }
                }
            }
        case .username(let name): git_credential_username_new(result, name)
        case .negotiate: git_credential_default_new(result)
        }
    }

    private static func lend(_ path: FilePath?, _ use: (UnsafePointer<CChar>?) -> Int32) -> Int32 {
        path.map { $0.withPlatformString { use($0) } } ?? use(nil)
    }
}

extension LentSecret {
    /// Lends the secret with a NUL behind it; the copy is wiped before this returns.
    fileprivate func withCString(_ use: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        var code: Int32 = -1
        lend { secret in
            withUnsafeTemporaryAllocation(byteCount: secret.count + 1, alignment: 1) { copy in
                copy.copyMemory(from: secret)
                copy[secret.count] = 0
                code = copy.withMemoryRebound(to: CChar.self) { use($0.baseAddress!) }
                explicit_bzero(copy.baseAddress!, copy.count)
            }
        }
        return code
    }
}
