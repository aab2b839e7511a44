import Git
import System
import SystemPackage

/// A transfer through the git program, for what libgit2 cannot do: ssh's configuration and RSA keys, credential
/// helpers, shallow clones.
enum GitProgram {
    /// - Parameter listed: told what the remote's references lead to, where the request is to list that.
    /// - Returns: what the branch leads to, where the request is to ask that.
    @discardableResult
    static func run(
        _ request: TransferRequest, listed: ([ObjectID]) -> Void = { _ in }
    ) throws(TransferFailure) -> ObjectID? {
        let remote = url(request) ?? request.remote
        var outcome = try transfer(request, remote)
        if let code = outcome.redirection,
            let (location, next) = try destination(of: remote, request.repository)
        {
            guard let next else {
                throw TransferFailure(
                    code: .redirected,
                    message:
                        "the server redirects to \(GitError.withoutPasswords(location)), which passdir does not "
                        + "follow (\(code))"
                )
            }
            outcome = try transfer(request, next)
        }
        if outcome.status == 0 {
            guard request.operation == .ask || request.operation == .list else { return nil }
            // A line a reference: its object, a tab, its name.
            let lines = String(decoding: outcome.output, as: UTF8.self).split(whereSeparator: \.isNewline)
            let tip = { (line: Substring) in ObjectID(hex: String(line.prefix { $0 != "\t" })) }
            guard request.operation == .ask else {
                listed(lines.compactMap(tip))
                return nil
            }
            guard let tip = lines.first(where: { $0.hasSuffix("\t\(request.remoteRef)") }).flatMap(tip) else {
                throw TransferFailure(
                    code: .noBranch, message: "the remote has no branch \(request.remoteRef)")
            }
            return tip
        }
        throw failure(outcome.errors + String(decoding: outcome.output, as: UTF8.self), request)
    }

    private static func transfer(
        _ request: TransferRequest, _ remote: String
    ) throws(TransferFailure) -> ChildProcess.Outcome {
        switch request.operation {
        case .push:
            try git(
                ["push", "--porcelain", "--no-recurse-submodules"]
                    + (request.lease.map { ["--force-with-lease=\(request.remoteRef):\($0.hex)"] } ?? [])
                    + ["--", remote, "\(request.localRef):\(request.remoteRef)"],
                request.repository)
        case .fetch:
            try git(
                [
                    "fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", remote,
                    "+\(request.remoteRef):\(request.trackingRef)",
                ], request.repository)
        case .ask: try git(["ls-remote", "--", remote, request.remoteRef], request.repository)
        case .list: try git(["ls-remote", "--", remote], request.repository)
        case .clone:
            throw TransferFailure(
                code: .unsupported,
                message: "cloning with the git program is not "
                    + "supported here")
        }
    }

    private static func git(
        _ words: [String], _ repository: FilePath, _ extra: [String: String] = [:]
    ) throws(TransferFailure) -> ChildProcess.Outcome {
        var environment = ProcessEnvironment.forGit
        environment["LC_ALL"] = "C"
        // A question has nobody to answer it.
        if environment["GIT_SSH_COMMAND"] == nil, environment["GIT_SSH"] == nil {
            environment["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        }
        environment["SSH_ASKPASS_REQUIRE"] = "never"
        // Whatever a configuration says: no program that a URL names (ext::, gitremote-helpers(7)).
        environment["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git:file"
        // What git starts, a helper or a hook, goes by it, too.
        environment["GIT_DIR"] = repository.string
        environment.merge(extra) { _, new in new }
        do throws(Errno) {
            // Whoever started us bounds the time, and ends the group. Packing has its own time (`Packing`). A redirect
            // would take headers of the configuration, and what a helper says without asking for whom, to another server.
            return try ChildProcess.run(
                [
                    "git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c",
                    "http.followRedirects=false", "-c", "safe.bareRepository=explicit",
                    "-c", "core.bigFileThreshold=16m",
                    "--git-dir", repository.string,
                ] + words, environment: environment, directory: "/", timeout: .seconds(86400), group: .ours
            )
        } catch {
            throw TransferFailure(code: .other, message: "cannot start the git program: \(error)")
        }
    }

    /// Where a server redirects to, and the URL to go on with where that is the same server. It is asked once more, as git
    /// tells of its answer in a trace only (without credentials in it, git(1)).
    private static func destination(
        of remote: String, _ repository: FilePath
    ) throws(TransferFailure) -> (location: String, next: String?)? {
        guard remote.hasPrefix("http") else { return nil }
        let trace = ["GIT_TRACE_CURL": "1", "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"]
        let outcome = try git(["ls-remote", "--", remote], repository, trace)
        for line in outcome.errors.split(whereSeparator: \.isNewline) {
            // Only the first is git's: a header may hold the words, too.
            guard let header = line.firstRange(of: "Recv header: ").map({ line[$0.upperBound...] }),
                header.lowercased().hasPrefix("location: ")
            else { continue }
            let location = String(header.dropFirst("location: ".count)).trimmed
            return (location, Redirection.followed(from: remote, to: location))
        }
        return nil
    }

    /// The remote's URL, so that the references of `git fetch` and `git push` are left to those; nil where it holds a
    /// password, which must not stand in an argument.
    private static func url(_ request: TransferRequest) -> String? {
        guard request.operation != .list,
            let repository = try? Repository.open(gitDirectory: request.repository)
        else { return nil }
        let url =
            request.operation == .push
            ? repository.pushURL(ofRemote: request.remote) : repository.url(ofRemote: request.remote)
        return url.flatMap { $0 == GitError.withoutPasswords($0) ? $0 : nil }
    }

    /// What git says of a pack that it does not take, or of a history that is not whole with it.
    private static let unsound = [
        "did not send all necessary objects", "bad object", "unresolved delta", "fsck error",
        "pack is corrupted", "inflate returned",
    ]

    /// git says in words only what went wrong; these are those of the C locale.
    private static func failure(_ said: String, _ request: TransferRequest) -> TransferFailure {
        let text = said.split(whereSeparator: \.isNewline)
            .map { GitError.withoutFullStop(String($0.drop(while: \.isWhitespace))) }
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
            } else if has(unsound), !GitError.isOfMachine(said), !has(["Out of memory", "out of memory"]) {
                .unsound
            } else if has(["(fetch first)", "(non-fast-forward)", "(stale info)"])
                || GitError.isOvertaken(said)
            {
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
        let doing =
            switch request.operation {
            case .push: "git push"
            case .fetch: "git fetch"
            case .ask, .list: "git ls-remote"
            case .clone: "git clone"
            }
        return TransferFailure(
            code: code, message: "\(doing): \(GitError.withoutPasswords(String(text.prefix(600))))")
    }
}

extension ChildProcess.Outcome {
    /// The status of an HTTP redirect that git was not to follow.
    fileprivate var redirection: String? {
        guard status != 0, let found = errors.firstRange(of: "returned error: 30") else { return nil }
        return "HTTP 30" + errors[found.upperBound...].prefix(1)
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
