import Git
import Glibc
import OpenPGP
import Settings
import System
import SystemPackage

/// Asks remotes what they have at this moment, in a child process that can be killed.
struct RemoteLook {
    /// How a store's server is told who we are.
    var method: AuthenticationMethod?
    var userName: String?
    var sshKey: FilePath?
    /// What the store's server may ask for, and no other one.
    var secrets: [CredentialKind: SecretBytes] = [:]
    /// The server that they are for.
    var host: String?
    /// How many bytes may be fetched for the comparison (`limits.transfer`).
    var transferLimit: Int
    /// The folders that are about to go: a remote in one of them keeps nothing.
    var doomed: [FilePath]

    /// What a remote said, or why it said nothing.
    struct Answer {
        var tips: [ObjectID] = []
        /// One sentence.
        var failure: String?
    }

    /// Asks a remote of a repository.
    /// - Parameter mayUseGit: whether the git program may be asked where libgit2 fails, which follows the repository's
    ///   configuration: that of a store's own repository, which the committer follows, too.
    func ask(_ url: String, of repository: Repository, mayUseGit: Bool) -> Answer {
        let shown = GitError.withoutPasswords(url)
        if let objection = RemoteURL.objection(to: url) {
            return Answer(failure: "the remote \(shown) is not asked because \(objection)")
        }
        let base = repository.workingDirectory ?? repository.gitDirectory
        if let folder = Self.folder(of: url, from: base), isDoomed(folder) {
            return Answer(failure: "the remote \(shown) lies in what is to be removed")
        }
        if isShallow(url, from: base) {
            return Answer(
                failure: "the remote \(shown) is a shallow clone, which lacks what is behind its boundary")
        }
        let isOwnServer = RemoteURL(url)?.host == host
        var request = CloneRequest(
            // A path is the repository's, not ours.
            url: Self.folder(of: url, from: base)?.string ?? url, folder: repository.gitDirectory,
            branch: nil,
            login: RemoteLogin(
                method: isOwnServer ? method : nil, userName: isOwnServer ? userName : nil,
                sshKey: isOwnServer ? sshKey : nil
            ) { _ in nil }, fileLimit: 0, transferLimit: transferLimit, purpose: .look)
        var answer = Answer()
        do throws(GitError) {
            try run(request, isOwnServer ? secrets : [:], &answer)
        } catch {
            answer.failure = error.message
            // It has said what it has, and only what is beyond us could not be fetched.
            guard answer.tips.isEmpty, mayUseGit, error.code != .notFound else { return answer }
            request.purpose = .lookWithGit
            if (try? run(request, [:], &answer)) != nil { answer.failure = nil }
        }
        return answer
    }

    private func run(
        _ request: CloneRequest, _ secrets: [CredentialKind: SecretBytes], _ answer: inout Answer
    ) throws(GitError) {
        let end = ContinuousClock.now + .seconds(300)
        try request.run(secrets: secrets, progress: { _ in .now < end }) { line in
            let word = line.hasPrefix("tip ") ? line.dropFirst(4) : line.prefix { $0 != "\t" }
            if let id = ObjectID(hex: String(word)) { answer.tips.append(id) }
        }
    }

    /// The folder that a URL without a server names.
    private static func folder(of url: String, from base: FilePath) -> FilePath? {
        if url.lowercased().hasPrefix("file://") {
            let rest = url.dropFirst("file://".count)
            return FilePath(String(rest.hasPrefix("localhost/") ? rest.dropFirst("localhost".count) : rest))
        }
        guard let parsed = RemoteURL(url), parsed.host.isEmpty, !url.contains("://") else {
            // A path with a space or a colon is a path all the same.
            return url.hasPrefix("/") || url.hasPrefix(".") ? base.pushing(FilePath(url)) : nil
        }
        return base.pushing(FilePath(url))
    }

    /// Whether a remote in a folder is a shallow clone: what its commits lead to may be nowhere. A server does not say so of
    /// itself.
    func isShallow(_ url: String, from base: FilePath) -> Bool {
        guard let folder = Self.folder(of: url, from: base) else { return false }
        // Where git looks for a repository that a path names.
        return [folder, FilePath(folder.string + ".git")].flatMap { [$0, $0.appending(".git")] }.contains {
            place in
            if let repository = try? Repository.open(place), repository.isShallow { return true }
            var facts = stat()
            return place.appending("shallow").withPlatformString { stat($0, &facts) } == 0
                && facts.st_size > 0
        }
    }

    /// Whether a repository lies, with its objects or those that it borrows, in what is about to go.
    private func isDoomed(_ folder: FilePath) -> Bool {
        var places = [folder]
        if let repository = try? Repository.open(folder) {
            let objects = repository.commonDirectory.appending("objects")
            places.append(objects)
            if let text = try? PrivateFile.read(objects.appending("info").appending("alternates")) {
                for line in text.split(separator: UInt8(ascii: "\n")) {
                    places.append(objects.pushing(FilePath(String(decoding: line, as: UTF8.self))))
                }
            }
        }
        return places.contains { place in
            let real = (try? place.resolvingLinks()) ?? place.lexicallyNormalized()
            return doomed.contains { real.starts(with: $0) }
        }
    }

    /// Becomes the git program that lists a remote's references.
    static func become(_ request: CloneRequest) -> Never {
        for name in [
            "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
            "GIT_ASKPASS",
        ] { unsetenv(name) }
        // As for a transfer: nobody answers questions, and no program that a URL names is run.
        if getenv("GIT_SSH_COMMAND") == nil, getenv("GIT_SSH") == nil {
            setenv("GIT_SSH_COMMAND", "ssh -o BatchMode=yes", 1)
        }
        for (name, value) in [
            ("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("SSH_ASKPASS_REQUIRE", "never"),
            ("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file"), ("GIT_CEILING_DIRECTORIES", "/"),
            ("GIT_DIR", request.folder.string),
        ] { setenv(name, value, 1) }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(null, 0)
        dup2(null, 2)
        let words = [
            "git", "-c", "http.followRedirects=false", "-c", "safe.bareRepository=explicit", "--git-dir",
            request.folder.string, "ls-remote", "--", request.url,
        ]
        chdir("/")
        execvp("git", words.map { strdup($0) } + [nil])
        exit(127)
    }
}
