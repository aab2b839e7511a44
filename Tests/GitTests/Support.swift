import Git
import Glibc
import SystemPackage
import Testing

/// What a program said and how it ended.
struct Outcome {
    var status: Int32
    var output: [UInt8]
    var error: String

    var text: String { String(decoding: output, as: UTF8.self) }
}

/// A short folder under /tmp that is gone at the end of its life; the git program is run in it with an environment of
/// its own, and libgit2 doesn't see the configuration of this machine.
final class TestFolder {
    let path: FilePath

    private static let isolated: Void = LibGit2.setGlobalConfigSearchPath("/nonexistent")

    init() {
        _ = TestFolder.isolated
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        path = FilePath(platformString: mkdtemp(&template)!)
    }

    deinit {
        _ = try? run(["rm", "-rf", path.string])
    }

    /// The environment of every program: nothing of the caller's but PATH.
    var environment: [String] {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return [
            "PATH=\(path)", "HOME=\(self.path)/home", "XDG_CONFIG_HOME=\(self.path)/home",
            "GIT_CONFIG_NOSYSTEM=1",
            "LC_ALL=C", "TZ=UTC", "GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=user@example.org",
            "GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=user@example.org", "GIT_TERMINAL_PROMPT=0",
            "GNUPGHOME=\(self.path)/gnupg",
        ]
    }

    /// Runs a program to its end, a minute at most.
    @discardableResult
    func run(_ arguments: [String], in folder: FilePath? = nil, input: [UInt8] = []) throws -> Outcome {
        let files = try [input, [], []].map { try scratch($0) }
        defer { for file in files { close(file) } }
        let process = try spawn(["timeout", "-k", "5", "60"] + arguments, in: folder ?? path, files: files)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let code = status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
        return Outcome(
            status: code, output: contents(files[1]),
            error: String(decoding: contents(files[2]), as: UTF8.self))
    }

    /// Writes a file of the folder.
    func write(_ name: String, _ text: String) throws {
        let file = try FileDescriptor.open(
            path.appending(name), .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// Starts a program in a process group of its own.
    func spawn(_ arguments: [String], in folder: FilePath, files: [Int32]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, file) in files.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file, Int32(target))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Whatever the thread of the test blocks or the caller ignores, a program must hear the signals that end it.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGTERM)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let argv = (["env", "-C", folder.string] + arguments).map { strdup($0) } + [nil]
        let envp = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, "env", &actions, &attributes, argv, envp)
        guard code == 0 else { throw Errno(rawValue: code) }
        return process
    }

    private func scratch(_ content: [UInt8]) throws -> Int32 {
        var template = Array("/tmp/pd-io-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        unlink(template)
        _ = content.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        lseek(file, 0, SEEK_SET)
        return file
    }

    private func contents(_ file: Int32) -> [UInt8] {
        var status = stat()
        fstat(file, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        return Array(bytes[..<max(0, got)])
    }
}

/// A repository made by the git program, at `work` in a test's folder, on the branch main.
final class TestRepository {
    let folder: TestFolder
    let path: FilePath

    init(_ folder: TestFolder = TestFolder(), name: String = "work", bare: Bool = false) throws {
        self.folder = folder
        path = folder.path.appending(name)
        try folder.run(["git", "init", "-q", "-b", "main"] + (bare ? ["--bare"] : []) + [path.string])
    }

    /// Runs git; a failure is an issue of the test.
    @discardableResult
    func git(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let outcome = try folder.run(["git"] + arguments, in: path)
        #expect(outcome.status == 0, "git \(arguments): \(outcome.error)", sourceLocation: sourceLocation)
        return outcome.text
    }

    func write(_ name: FilePath, _ text: String) throws {
        try write(name, Array(text.utf8))
    }

    func write(_ name: FilePath, _ bytes: [UInt8]) throws {
        let place = path.pushing(name)
        var above = path
        for component in name.removingLastComponent().components {
            above.append(component)
            _ = above.withPlatformString { mkdir($0, 0o777) }
        }
        let file = try FileDescriptor.open(
            place, .writeOnly, options: [.create, .truncate], permissions: .init(rawValue: 0o644))
        try file.closeAfter { _ = try file.writeAll(bytes) }
    }

    func remove(_ name: FilePath) {
        _ = path.pushing(name).withPlatformString { Glibc.remove($0) }
    }

    /// What `git status` shows.
    var status: String {
        get throws { try git("status", "--porcelain", "--untracked-files=all") }
    }

    func open() throws -> Repository { try Repository.open(path) }
}

let someone = Signature(
    name: "Some One", email: "someone@example.org", time: 1_700_000_000, offsetMinutes: 120)

extension Repository {
    /// The three steps of a commit on the current branch; nil when nothing differs.
    @discardableResult
    func record(_ paths: [FilePath], _ message: String = "Change") throws -> ObjectID? {
        guard case .branch(_, let ref, let tip) = try head() else { return nil }
        let (tree, changes) = try preparedTree(parent: tip, paths: paths)
        if changes.isEmpty { return nil }
        try updateIndex(paths: changes.map(\.path), to: tree)
        return try commit(
            tree: tree, parent: tip, message: message, author: someone, committer: someone, onto: ref)
    }

    /// Makes a commit and moves a branch to it, provided the branch still stands at `parent`.
    @discardableResult
    func commit(
        tree: ObjectID, parent: ObjectID?, merged: [ObjectID] = [], message: String, author: Signature,
        committer: Signature, onto ref: String, sign: (([UInt8]) throws -> [UInt8])? = nil
    ) throws(GitError) -> ObjectID {
        let parents = [parent].compactMap(\.self) + merged
        let id = try makeCommit(
            tree: tree, parents: parents, message: message, author: author, committer: committer, sign: sign)
        let kind = parents.isEmpty ? "commit (initial)" : parents.count > 1 ? "commit (merge)" : "commit"
        try move(ref, from: parent, to: id, as: committer, "\(kind): \(message.prefix { $0 != "\n" })")
        return id
    }

    func tip() throws -> ObjectID? {
        guard case .branch(_, _, let tip) = try head() else { return nil }
        return tip
    }
}

/// Expects an error of this code from `body`, and gives it back.
@discardableResult
func expectGitError(
    _ code: GitError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> GitError? {
    do {
        try body()
        Issue.record("no error was thrown", sourceLocation: sourceLocation)
    } catch let error as GitError {
        #expect(error.code == code, "\(error.message)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}
