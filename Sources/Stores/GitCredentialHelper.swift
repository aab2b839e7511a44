import Git
import Glibc
import OpenPGP
import System
import SystemPackage

/// Git's own credential helpers, read only: `git credential fill` (gitcredentials(7)).
enum GitCredentialHelper {
    /// What the helpers say for a URL; nil when they know nothing. Asks nobody on a terminal.
    static func fill(url: String, userName: String?) -> Credential? {
        var question = "url=\(url)\n"
        if let userName { question += "username=\(userName)\n" }
        question += "\n"
        // No repository: the one that the caller's working directory looks like may be anybody's.
        var environment = ProcessEnvironment.variables(without: ["GIT_WORK_TREE", "GIT_INDEX_FILE"])
        environment.merge([
            "GIT_DIR": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/true",
            "SSH_ASKPASS": "/bin/true",
        ]) { _, new in new }
        guard let answer = try? SecretMessage(capacity: 65536) else { return nil }
        let outcome = try? ChildProcess.run(
            ["git", "credential", "fill"], environment: environment, input: Array(question.utf8),
            timeout: .seconds(30), keepsErrors: false
        ) { answer.append($0) }
        guard outcome?.status == 0 else { return nil }
        return withExtendedLifetime(answer) {
            let bytes = answer.filled
            var (name, password): (String?, SecretBytes?) = (userName, nil)
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                if line.starts(with: "username=".utf8) {
                    name = String(decoding: line.dropFirst(9), as: UTF8.self)
                } else if line.starts(with: "password=".utf8), line.count > 9 {
                    password = try? SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line.dropFirst(9)))
                }
            }
            guard let name, let password else { return nil }
            return .password(username: name, LentSecret(lending: password))
        }
    }
}
