import Git
import OpenPGP
import System
import SystemPackage

/// Git's own credential helpers, read only: `git credential fill` (gitcredentials(7)); nothing is ever stored there.
enum GitCredentialHelper {
    /// What the helpers say for a URL; nil when they know nothing. Asks nobody on a terminal.
    /// - Parameter group: with which processes the helpers are ended.
    static func fill(
        url: String, userName: String? = nil, group: ChildProcess.Group = .own
    ) -> Credential? {
        let question = "url=\(url)\n" + (userName.map { "username=\($0)\n" } ?? "") + "\n"
        // No repository: the one that the caller's working directory looks like may be anybody's.
        var environment = ProcessEnvironment.forGit
        environment["SSH_ASKPASS"] = nil
        environment["GIT_DIR"] = "/dev/null"
        // The answer holds a password: it goes from the pipe into secret memory, and into no array.
        var answer = SecretBuffer()
        var isWhole = true
        // core.askPass empty: a helper that knows nothing must not end in a question.
        let outcome = try? ChildProcess.run(
            ["git", "-c", "core.askPass=", "credential", "fill"], environment: environment, directory: "/",
            input: Array(question.utf8), timeout: .seconds(30), group: group
        ) { piece in
            do throws(Errno) { try answer.write(piece, at: answer.count) } catch { isWhole = false }
        }
        guard outcome?.status == 0, isWhole else { return nil }
        var (name, password): (String?, SecretBytes?) = (userName, nil)
        answer.withUnsafeBytes { bytes in
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                if line.starts(with: "username=".utf8) {
                    name = String(decoding: line.dropFirst(9), as: UTF8.self)
                } else if line.starts(with: "password=".utf8), line.count > 9 {
                    password = try? SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line.dropFirst(9)))
                }
            }
        }
        guard let name, let password else { return nil }
        return .password(username: name, LentSecret(lending: password))
    }
}
