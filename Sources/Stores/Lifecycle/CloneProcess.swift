import CLinux
public import Git
import Glibc
public import OpenPGP
public import Settings
import Synchronization
public import SystemPackage

/// A clone that is asked for, as it goes to the child process: libgit2 knows no time-outs, a process can be killed.
public struct CloneRequest: Sendable {
    /// The URL, without a password.
    public var url: String
    /// The folder to clone into; absent or empty.
    public var folder: FilePath
    /// The branch to check out; nil takes the remote's own.
    public var branch: String?
    /// How the server is told who we are.
    public var login: RemoteLogin
    /// How many bytes a file may have (`limits.secret` and what encryption adds).
    public var fileLimit: Int
    /// How many bytes the clone may bring, and its files may take (`limits.transfer`).
    public var transferLimit: Int
    /// What is asked for.
    var purpose = Purpose.clone

    /// What a child process is started for.
    enum Purpose: String {
        /// The clone.
        case clone
        /// To ask what the remote of the git directory `folder` has.
        case look
        /// The same through the git program, for what libgit2 cannot do.
        case lookWithGit
    }

    /// The hidden command of our own program that runs it.
    public static let command = "clone-child"
    /// Without a sign of life for so long the clone is given up.
    static let patience = Duration.seconds(60)

    /// Runs the clone in a child process, which is this program with the command `clone-child`.
    /// - Parameters:
    ///   - progress: told how far it is; false stops it.
    ///   - secrets: what the server may ask for.
    /// - Throws: as `Repository.clone`; `.network` when nothing moved for a minute, `.cancelled`.
    public func run(
        secrets: [CredentialKind: SecretBytes], progress: (TransferProgress) -> Bool
    ) throws(GitError) {
        try run(secrets: secrets, progress: progress) { _ in }
    }

    /// - Parameter heard: told each line of the child's that is neither progress nor an error.
    func run(
        secrets: [CredentialKind: SecretBytes], progress: (TransferProgress) -> Bool, heard: (String) -> Void
    ) throws(GitError) {
        let doing = purpose == .clone ? "clone" : "ask"
        let child = try start(secrets)
        var text: [UInt8] = []
        var lastSign = ContinuousClock.now
        var latest = TransferProgress(objects: 0, totalObjects: 0, bytes: 0)
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = chunk.withUnsafeMutableBytes { child.read(into: $0, within: 200) }
            if count == 0 { break }
            if let count {
                lastSign = .now
                text += chunk.prefix(count)
            }
            while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: text[..<end], as: UTF8.self)
                text.removeSubrange(...end)
                if let error = Self.error(in: line) {
                    _ = child.wait()
                    throw error
                }
                if let step = Self.progress(in: line) { latest = step } else { heard(line) }
            }
            guard progress(latest) else {
                child.kill()
                throw GitError(
                    code: .cancelled,
                    message: purpose == .clone ? "the clone was stopped" : "the question was stopped")
            }
            guard ContinuousClock.now - lastSign < Self.patience else {
                child.kill()
                throw GitError(
                    code: .network,
                    message:
                        "cannot \(doing) \(GitError.withoutPasswords(url)): the server said nothing for a minute"
                )
            }
        }
        let status = child.wait()
        guard status == 0 else {
            throw GitError(
                code: .other,
                message: "cannot \(doing) \(GitError.withoutPasswords(url)): that ended with status \(status)"
            )
        }
    }

    private func start(_ secrets: [CredentialKind: SecretBytes]) throws(GitError) -> Child {
        do throws(Errno) {
            let message = try SecretMessage(capacity: 65536)
            for field in [
                url, folder.string, branch ?? "", login.method?.rawValue ?? "", login.userName ?? "",
                login.sshKey?.string ?? "", "\(fileLimit)", "\(transferLimit)", purpose.rawValue,
            ] {
                Array(field.utf8 + [0]).withUnsafeBytes { message.append($0) }
            }
            for (kind, secret) in secrets {
                Array("\(kind.rawValue)=\(secret.count)\0".utf8).withUnsafeBytes { message.append($0) }
                secret.withUnsafeBytes { message.append($0) }
            }
            return try Child(["/proc/self/exe", Self.command], input: message.filled)
        } catch {
            throw GitError(code: .other, message: "the clone cannot be started: \(error)")
        }
    }

    private static func progress(in line: String) -> TransferProgress? {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        return TransferProgress(objects: numbers[0], totalObjects: numbers[1], bytes: numbers[2])
    }

    private static func error(in line: String) -> GitError? {
        let parts = line.split(separator: "\t", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "error" else { return nil }
        let codes: [String: GitError.Code] = [
            "authentication": .authentication, "certificate": .certificate, "network": .network,
            "notFound": .notFound, "cancelled": .cancelled, "redirected": .redirected,
        ]
        return GitError(code: codes[String(parts[1])] ?? .other, message: String(parts[2]))
    }
}

/// The child's side of a clone.
public enum CloneChild {
    /// Reads the request from standard input, clones, and tells standard output how it goes. Returns the exit status.
    public static func run() -> Int32 {
        // Without the parent nobody would remove a half clone but the next start.
        CloneChild.dieWithParent()
        TransferBounds.set()
        guard let (request, secrets) = read() else { return 64 }
        if let objection = RemoteURL.objection(to: request.url) {
            say("error\tother\tcannot clone from this URL because \(objection)")
            return 1
        }
        let login = RemoteLogin(
            method: request.login.method, userName: request.login.userName, sshKey: request.login.sshKey
        ) { kind in secrets[kind] }
        if let authorities = UserConfiguration.string("http.sslCAInfo") {
            LibGit2.trustCertificates(in: FilePath(authorities))
        }
        TransferLimits.apply(bytes: request.transferLimit)
        let isTooMuch = Mutex(false)
        let lastSaid = Mutex(ContinuousClock.now - .seconds(1))
        let callbacks = TransferCallbacks(
            credentials: { login.answer($0) },
            progress: { step in
                let isDue = lastSaid.withLock { last in
                    guard step.objects == step.totalObjects || .now - last > .milliseconds(50) else {
                        return false
                    }
                    last = .now
                    return true
                }
                if isDue { say("\(step.objects) \(step.totalObjects) \(step.bytes)") }
                let fits = TransferLimits.allow(step, bytes: request.transferLimit)
                if !fits { isTooMuch.withLock { $0 = true } }
                return fits
            })
        do {
            switch request.purpose {
            case .clone:
                _ = try Repository.clone(
                    request.url, to: request.folder, branch: request.branch,
                    bounds: TreeBounds(file: request.fileLimit, total: request.transferLimit),
                    callbacks: callbacks)
            case .look:
                try Repository.open(bare: request.folder).askTips(
                    ofRemoteAt: request.url, callbacks: callbacks
                ) { tips in
                    // With one write for each, a slow reader would hold up the server.
                    say(tips.map { "tip \($0)" }.joined(separator: "\n"))
                }
            case .lookWithGit: RemoteLook.become(request)
            }
            return 0
        } catch {
            let text =
                isTooMuch.withLock({ $0 }) || TransferLimits.caused(error.message)
                ? "cannot clone \(request.url): \(TransferLimits.sentence(bytes: request.transferLimit))"
                : error.message
            var line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
            if error.code == .certificate, !request.url.hasPrefix("https:") {
                let url = ShellWord.quoted(GitError.withoutPasswords(request.url))
                line += "; passdir store trust-host \(url) shows the server's key, and accepts it"
            }
            say("error\t\(isTooMuch.withLock { $0 } ? .other : error.code)\t\(line)")
            return 1
        }
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress! + written, $0.count - written) }
            if count < 0, errno != EINTR { return }
            written += max(count, 0)
        }
    }

    private static func dieWithParent() {
        _ = passdir_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL))
        if getppid() == 1 { exit(1) }
    }

    private static func read() -> (CloneRequest, [CredentialKind: SecretBytes])? {
        guard let message = try? SecretMessage(capacity: 65536) else { return nil }
        while true {
            let room = message.rest
            guard room.count > 0 else { return nil }
            let count = Glibc.read(0, room.baseAddress, room.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            message.count += count
        }
        var rest = message.filled[...]
        func field() -> String? {
            guard let end = rest.firstIndex(of: 0) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard let url = field(), let folder = field(), let branch = field(), let method = field(),
            let user = field(), let key = field(), let files = field().flatMap({ Int($0) }),
            let transfer = field().flatMap({ Int($0) }),
            let purpose = field().flatMap({ CloneRequest.Purpose(rawValue: $0) })
        else { return nil }
        var secrets: [CredentialKind: SecretBytes] = [:]
        while let head = field() {
            let parts = head.split(separator: "=")
            guard parts.count == 2, let kind = CredentialKind(rawValue: String(parts[0])),
                let count = Int(parts[1]), 0...rest.count ~= count
            else { return nil }
            secrets[kind] = try? SecretBytes(copying: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        let login = RemoteLogin(
            method: AuthenticationMethod(rawValue: method), userName: user.isEmpty ? nil : user,
            sshKey: key.isEmpty ? nil : FilePath(key)
        ) { _ in nil }
        let request = CloneRequest(
            url: url, folder: FilePath(folder), branch: branch.isEmpty ? nil : branch, login: login,
            fileLimit: files, transferLimit: transfer, purpose: purpose)
        return (request, secrets)
    }
}
