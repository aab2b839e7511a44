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
            return Answer(failure: "the remote \(shown) was not contacted because \(objection)")
        }
        let base = repository.workingDirectory ?? repository.gitDirectory
        if let folder = Self.folder(of: url, from: base), isDoomed(folder) {
            return Answer(failure: "the remote \(shown) is inside the folder to be removed")
        }
        if isShallow(url, from: base) {
            return Answer(
                failure: "the remote \(shown) is a shallow clone, which lacks the older history")
        }
        let isOwnServer = RemoteURL(url)?.host == host
        var request = TransferRequest(
            .list, repository: repository.gitDirectory,
            // A path is the repository's, not ours.
            remote: Self.folder(of: url, from: base)?.string ?? url, transport: .libgit2)
        request.offers = .asked
        request.limit = transferLimit
        let secrets = isOwnServer ? secrets : [:]
        let login = RemoteLogin(
            method: isOwnServer ? method : nil, userName: isOwnServer ? userName : nil,
            sshKey: isOwnServer ? sshKey : nil
        ) { secrets[$0] }
        var answer = Answer()
        do throws(TransferFailure) {
            try run(request, login, &answer)
        } catch {
            answer.failure = error.message
            // It has said what it has, and only what is beyond us could not be fetched.
            guard answer.tips.isEmpty, mayUseGit, error.code != .notFound else { return answer }
            request.transport = .git
            if (try? run(request, login, &answer)) != nil { answer.failure = nil }
        }
        return answer
    }

    private func run(
        _ request: TransferRequest, _ login: RemoteLogin, _ answer: inout Answer
    ) throws(TransferFailure) {
        let end = ContinuousClock.now + .seconds(300)
        try TransferProcess(timeout: .seconds(60), credentials: { login.answer($0) }).runBlocking(
            request, isWanted: { _ in .now < end }, listed: { answer.tips += $0 })
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
            return place.appending("shallow").targetFacts().map { $0.st_size > 0 } ?? false
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
}
