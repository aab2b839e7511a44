import Git
import Glibc
import Synchronization
import SystemPackage
import Testing

private let main = "refs/heads/main"

private func lent(_ text: String) -> LentSecret {
    LentSecret { use in
        var copy = Array(text.utf8)
        copy.withUnsafeMutableBytes { use(UnsafeRawBufferPointer($0)) }
    }
}

/// Remembers the certificates and keys that it was asked about, and gives one answer; without an answer it isn't asked.
private final class Witness: Sendable {
    let seen = Mutex<[CertificateInfo]>([])
    private let answer: Bool?

    init(_ answer: Bool?) {
        self.answer = answer
    }

    var check: (@Sendable (CertificateInfo) -> Bool)? {
        guard let answer else { return nil }
        return { info in
            self.seen.withLock { $0.append(info) }
            return answer
        }
    }
}

/// Against real servers: nginx with git-http-backend, and sshd. Where they aren't installed, there is nothing to test.
@Suite(.serialized) struct AuthenticationTests {
    static let hasWebServer =
        access("/usr/sbin/nginx", X_OK) == 0 && access("/usr/sbin/fcgiwrap", X_OK) == 0
        && access("/usr/bin/openssl", X_OK) == 0
    /// An account without a login shell cannot be a server's either.
    static let hasSecureShell =
        access("/usr/sbin/sshd", X_OK) == 0
        && getpwuid(getuid())?.pointee.pw_shell.map { String(cString: $0).hasSuffix("sh") } == true

    @Test(.enabled(if: hasWebServer)) func httpsWithNameAndPassword() throws {
        let pair = try Pair()
        try pair.bare.git("config", "http.receivepack", "true")
        let server = try SecureWebServer(pair.work.folder)
        let repository = try pair.work.open()
        let url = server.url("bare")
        func push(password: String, trust: Bool?) throws -> [CertificateInfo] {
            let witness = Witness(trust)
            let callbacks = TransferCallbacks(
                credentials: { _ in .password(username: "tester", lent(password)) },
                certificateCheck: witness.check)
            try repository.push(remote: url, localRef: main, remoteRef: main, callbacks: callbacks)
            return witness.seen.withLock { $0 }
        }
        expectGitError(.certificate) { _ = try push(password: "right", trust: nil) }
        expectGitError(.certificate) { _ = try push(password: "right", trust: false) }
        let error = expectGitError(.authentication) { _ = try push(password: "wrong", trust: true) }
        #expect(error?.message.contains("refused the credentials") == true, "\(error?.message ?? "")")
        let seen = try #require(try push(password: "right", trust: true).first)
        #expect(!seen.isValid && seen.host == "localhost")
        let der = try pair.work.folder.run(["openssl", "x509", "-in", "cert.pem", "-outform", "DER"]).output
        #expect(seen.kind == .x509(der))
        #expect(try pair.bare.git("log", "-1", "--format=%s", "main") == "First\n")

        try pair.hook("pre-receive", "echo 'not today' >&2; exit 1")
        try pair.work.write("b", "two")
        try repository.record(["b"])
        let refusal = expectGitError(.rejected) { _ = try push(password: "right", trust: true) }
        #expect(refusal?.message.contains("not today") == true, "\(refusal?.message ?? "")")
    }

    @Test(.enabled(if: hasSecureShell)) func sshWithAKey() throws {
        let pair = try Pair()
        let folder = pair.work.folder
        let server = try SecureShellServer(folder)
        let repository = try pair.work.open()
        func push(_ credential: Credential?, trust: Bool? = true) throws -> [CertificateInfo] {
            let witness = Witness(trust)
            try repository.push(
                remote: server.url(pair.bare.path), localRef: main, remoteRef: main,
                callbacks: TransferCallbacks(
                    credentials: { _ in credential }, certificateCheck: witness.check))
            return witness.seen.withLock { $0 }
        }
        func key(_ name: String, _ phrase: String? = nil) -> Credential {
            .sshKeyFile(
                username: server.user, publicKey: nil, privateKey: folder.path.appending(name),
                passphrase: phrase.map(lent))
        }
        expectGitError(.certificate) { _ = try push(key("client"), trust: nil) }
        expectGitError(.certificate) { _ = try push(key("client"), trust: false) }
        expectGitError(.authentication) { _ = try push(key("stranger")) }
        expectGitError(.authentication) { _ = try push(key("client-locked", "wrong")) }
        expectGitError(.authentication) { _ = try push(nil) }
        let seen = try #require(try push(key("client")).first)
        guard case .sshHostKey(let raw?, let sha256?) = seen.kind else {
            Issue.record("\(seen.kind)")
            return
        }
        #expect(sha256.count == 32 && !seen.isValid)
        #expect(raw.dropFirst(4).starts(with: "ssh-ed25519".utf8))
        #expect(try pair.bare.git("log", "-1", "--format=%s", "main") == "First\n")
        try pair.work.write("b", "two")
        try repository.record(["b"], "Second")
        _ = try push(key("client-locked", "open sesame"))
        #expect(try pair.bare.git("log", "-1", "--format=%s", "main") == "Second\n")
    }
}
