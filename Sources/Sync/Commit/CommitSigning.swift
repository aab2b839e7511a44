import CLinux
import Git
import Stores
import Glibc
import OpenPGP
import System
import SystemPackage

/// Signs commits as git would: `commit.gpgsign` or `pass.signcommits`, `gpg.format`, `user.signingkey`.
struct CommitSigning {
    let engine: any Keyring & Signing
    /// How long a passphrase may be waited for.
    let timeout: Duration
    /// The store's setting `key`: signs where git's settings name no key.
    var ownKey: String?

    /// What signs for this repository; nil when its commits are not signed.
    func signer(
        of repository: Repository, as who: Signature
    ) throws(GitError) -> (([UInt8]) throws -> [UInt8])? {
        guard
            repository.configBool("pass.signcommits") == true
                || repository.configBool("commit.gpgsign") == true
        else { return nil }
        let key = repository.config("user.signingkey")
        switch repository.config("gpg.format") ?? "openpgp" {
        case "openpgp":
            let fingerprint = try fingerprint(key ?? ownKey ?? "\(who.name) <\(who.email)>")
            return { try engine.signDetached($0, by: fingerprint, timeout: timeout, cancellation: nil) }
        case "ssh":
            guard let key, !key.isEmpty else {
                throw GitError(
                    code: .other, message: "commits must be signed with SSH, but user.signingkey names no key"
                )
            }
            let program = repository.config("gpg.ssh.program") ?? "ssh-keygen"
            return { try signBySSH($0, key: key, program: program) }
        case let other:
            throw GitError(
                code: .other,
                message: "commits must be signed with gpg.format = \(other), which passdir does not support")
        }
    }

    private func fingerprint(_ key: String) throws(GitError) -> Fingerprint {
        let found = try rethrowing(engine.keys(matching: [key], secretOnly: true)) { (error: OpenPGPError) in
            GitError(code: .other, message: error.message)
        }
        guard let first = found.first else {
            throw GitError(
                code: .other, message: "commits must be signed, but there is no secret key for \"\(key)\"")
        }
        return first.fingerprint
    }

    /// As git does: `ssh-keygen -Y sign -n git -f KEY`; a key that is written out in the setting is the agent's.
    private func signBySSH(_ content: [UInt8], key: String, program: String) throws(GitError) -> [UInt8] {
        let literal = key.hasPrefix("key::") ? String(key.dropFirst(5)) : key.hasPrefix("ssh-") ? key : nil
        var words = [program, "-Y", "sign", "-n", "git", "-f"]
        var scratch: [CChar] = []
        if let literal {
            scratch = Array("/tmp/passdir-key-XXXXXX".utf8CString)
            let file = passdir_mkstemp(&scratch)
            guard file >= 0 else {
                throw GitError(code: .other, message: "cannot write the public key for ssh-keygen")
            }
            _ = literal.withCString { write(file, $0, strlen($0)) }
            close(file)
            words += [
                String(decoding: scratch.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self), "-U",
            ]
        } else {
            words.append(key.hasPrefix("~/") ? home + key.dropFirst(1) : key)
        }
        defer { if !scratch.isEmpty { unlink(scratch) } }
        var environment = ProcessEnvironment.forGit
        environment["SSH_ASKPASS_REQUIRE"] = environment["SSH_ASKPASS"] == nil ? "never" : "force"
        // Not in the working tree: a program by a relative path would be one that others pushed.
        let outcome = try rethrowing(
            ChildProcess.run(
                words, environment: environment, directory: "/", input: content, timeout: timeout)
        ) { (error: Errno) in
            GitError(
                code: .other, message: "cannot start \(program) to sign the commit: \(error)")
        }
        guard outcome.status == 0, !outcome.output.isEmpty else {
            let said = outcome.errors.split(whereSeparator: \.isNewline).first.map { ": \($0)" } ?? ""
            throw GitError(code: .other, message: "\(program) did not sign the commit\(said)")
        }
        return outcome.output
    }

    private var home: String { getenv("HOME").map { String(cString: $0) } ?? "" }
}
