import Git
import SystemPackage

/// A transfer through the git program, for what libgit2 cannot do: ssh's configuration and RSA keys, credential
/// helpers, shallow clones.
enum GitProgram {
    static func run(_ request: TransferRequest) throws(TransferFailure) {
        var environment = ChildProgram.environment
        environment["LC_ALL"] = "C"
        // A question has nobody to answer it.
        if environment["GIT_SSH_COMMAND"] == nil, environment["GIT_SSH"] == nil {
            environment["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        }
        environment["SSH_ASKPASS_REQUIRE"] = "never"
        let remote = url(request) ?? request.remote
        // When a repository is packed is for the user's own git to decide.
        var words = [
            "git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "--git-dir", request.repository.string,
        ]
        switch request.operation {
        case .push:
            words += ["push", "--porcelain", remote, "\(request.localRef):\(request.remoteRef)"]
        case .fetch:
            words += [
                "fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", remote,
                "+\(request.remoteRef):\(request.trackingRef)",
            ]
        }
        let outcome: ChildProgram.Outcome
        do throws(Errno) {
            // Whoever started us bounds the time, and ends the group.
            outcome = try ChildProgram.run(
                words, environment: environment, directory: "/", timeout: .seconds(86400), ownGroup: false)
        } catch {
            throw TransferFailure(code: .other, message: "the git program cannot be started: \(error)")
        }
        guard outcome.status != 0 else { return }
        throw failure(outcome.errors + String(decoding: outcome.output, as: UTF8.self), request)
    }

    /// The remote's URL, so that the references of `git fetch` and `git push` are left to those; nil where it holds a
    /// password, which must not stand in an argument.
    private static func url(_ request: TransferRequest) -> String? {
        guard let repository = try? Repository.open(request.repository) else { return nil }
        let url =
            request.operation == .push
            ? repository.pushURL(ofRemote: request.remote) : repository.url(ofRemote: request.remote)
        return url.flatMap { $0 == GitError.withoutPasswords($0) ? $0 : nil }
    }

    /// git says in words only what went wrong; these are those of the C locale.
    private static func failure(_ said: String, _ request: TransferRequest) -> TransferFailure {
        let text = said.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty && !$0.hasPrefix("To ") && $0 != "Done" }.joined(separator: "; ")
        let has = { (words: [String]) in words.contains { said.contains($0) } }
        let code: TransferFailure.Code =
            if has(["couldn't find remote ref"]) {
                .noBranch
            } else if has([
                "Host key verification failed", "certificate verification failed", "SSL certificate",
            ]) {
                .certificate
            } else if has([
                "Authentication failed", "Permission denied", "could not read Username",
                "could not read Password",
                "terminal prompts disabled",
            ]) {
                .authentication
            } else if has(["(fetch first)", "(non-fast-forward)", "(stale info)"]) {
                .nonFastForward
            } else if has(["[remote rejected]", "pre-receive hook declined", "! [rejected]"]) {
                .rejected
            } else if has([
                "Could not resolve", "Connection refused", "Connection timed out", "unable to access",
                "hung up",
                "Could not read from remote",
            ]) {
                .network
            } else {
                .other
            }
        let doing = request.operation == .push ? "git push" : "git fetch"
        return TransferFailure(
            code: code, message: "\(doing): \(GitError.withoutPasswords(String(text.prefix(600))))")
    }
}
