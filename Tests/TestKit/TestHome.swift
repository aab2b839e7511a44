import Glibc
import SystemPackage

/// A home folder for one test, with a short path, and everything a user has in it: GnuPG home, configuration,
/// stores. Programs run in it see nothing of the user who runs the tests.
///
/// `TestHome.with` ends it and fails the test when a mount, a process or a file is left behind.
public final class TestHome: Sendable {
    /// The folder: `/tmp/pd-XXXXXX`; it is `$HOME`, too.
    public let folder: FilePath
    /// The environment of programs that run here; nothing is inherited.
    public let environment: [String: String]

    /// Makes the folder and what is in it.
    public init() throws {
        EndedHomes.prepare()
        var template = Array("/tmp/pd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        folder = template.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
        let binary = try Self.passdirBinary()
        environment = [
            "HOME": folder.string,
            "PATH": "\(binary.removingLastComponent()):/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "80",
            "USER": "tester",
            "LOGNAME": "tester",
            "GNUPGHOME": folder.appending("gnupg").string,
            "XDG_CONFIG_HOME": folder.appending("config").string,
            "XDG_STATE_HOME": folder.appending("state").string,
            "XDG_DATA_HOME": folder.appending("data").string,
            "XDG_CACHE_HOME": folder.appending("cache").string,
            "XDG_RUNTIME_DIR": folder.appending("run").string,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
        ]
        for name in ["gnupg", "config", "state", "data", "cache", "run"] {
            guard mkdir(folder.appending(name).string, 0o700) == 0 else { throw Errno(rawValue: errno) }
        }
        try write(
            """
            [user]
            \tname = Test User
            \temail = test@example.org
            [init]
            \tdefaultBranch = main

            """, to: ".gitconfig")
        try configureAgent("")
    }

    /// Writes gpg-agent's configuration.
    ///
    /// Without a count of its own, each agent measures for four seconds how often it can hash, before it protects the first
    /// key with a passphrase.
    public func configureAgent(_ lines: String) throws {
        try write("s2k-count 65536\n" + lines, to: "gnupg/gpg-agent.conf")
    }

    /// Runs a test in a home of its own; fails when the test leaves something behind.
    public static func with<Result>(
        _ name: String = #function, _ body: (TestHome) throws -> Result
    ) throws -> Result {
        let times = TestTimes(name)
        defer { times.end() }
        let home = try TestHome()
        let result: Result
        do {
            result = try body(home)
        } catch {
            // The test has failed already: what it could not end is ended, without another complaint.
            _ = home.end()
            throw error
        }
        try home.close()
        return result
    }

    /// As `with`, for a test that awaits; it begins when few others of its kind are under way.
    public static func with<Result: Sendable>(
        _ name: String = #function, _ body: @escaping (TestHome) async throws -> Result
    ) async throws -> Result {
        try await AwaitingTests.run {
            let times = TestTimes(name)
            defer { times.end() }
            return try await inHome(body)
        }
    }

    private static func inHome<Result: Sendable>(_ body: (TestHome) async throws -> Result) async throws
        -> Result
    {
        let home = try TestHome()
        let result: Result
        do {
            result = try await body(home)
        } catch {
            _ = home.end()
            throw error
        }
        try home.close()
        return result
    }

    /// The path of something in the home.
    public func path(_ name: String) -> FilePath {
        folder.pushing(FilePath(name))
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - input: its standard input.
    ///   - directory: where it runs; the home by default.
    ///   - extra: variables added to the environment; an empty value takes a variable away.
    ///   - limit: after which it is killed.
    public func run(
        _ words: [String], input: [UInt8] = [], in directory: FilePath? = nil, extra: [String: String] = [:],
        limit: Duration = .seconds(60)
    ) throws -> ProgramResult {
        try start(words, input: input, in: directory, extra: extra).wait(limit: limit)
    }

    /// Starts a program and returns at once.
    public func start(
        _ words: [String], input: [UInt8] = [], in directory: FilePath? = nil, extra: [String: String] = [:]
    ) throws -> Program {
        var variables = environment
        for (name, value) in extra { variables[name] = value.isEmpty ? nil : value }
        return try Program(words, environment: variables, input: input, directory: directory ?? folder)
    }

    /// Runs a program that must succeed, and gives its standard output.
    @discardableResult
    public func succeed(
        _ words: [String], input: [UInt8] = [], in directory: FilePath? = nil, extra: [String: String] = [:],
        limit: Duration = .seconds(60)
    ) throws -> [UInt8] {
        let result = try run(words, input: input, in: directory, extra: extra, limit: limit)
        guard result.exitCode == 0, !result.timedOut else {
            let end = result.timedOut ? "did not end in time" : "failed (\(result.exitCode))"
            throw TestFailure("\(words.joined(separator: " ")) \(end): \(result.errors)\(result.output)")
        }
        return result.standardOutput
    }

    /// Runs `passdir` to its end.
    public func passdir(
        _ arguments: String..., input: [UInt8] = [], extra: [String: String] = [:],
        limit: Duration = .seconds(60)
    ) throws -> ProgramResult {
        try run(["passdir"] + arguments, input: input, extra: extra, limit: limit)
    }

    /// Writes a text file in the home.
    public func write(_ text: String, to name: String, mode: FilePermissions = [.ownerReadWrite]) throws {
        let file = try FileDescriptor.open(
            path(name), .writeOnly, options: [.create, .truncate], permissions: mode)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// Ends the home.
    ///
    /// - Throws: what the test left behind; it is cleared away all the same.
    public func close() throws {
        let left = end()
        guard left.isEmpty else { throw TestFailure("left behind: " + left.joined(separator: "; ")) }
    }

    /// The built command: `$PASSDIR_BINARY`, else `passdir` beside the test bundle.
    public static func passdirBinary() throws -> FilePath {
        if let named = getenv("PASSDIR_BINARY") { return FilePath(platformString: named) }
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        var candidates: [FilePath] = []
        if count > 0 { candidates.append(FilePath(String(decoding: buffer.prefix(count), as: UTF8.self))) }
        candidates += CommandLine.arguments.filter { $0.contains(".xctest") }.map { FilePath($0) }
        for candidate in candidates {
            let binary = candidate.removingLastComponent().appending("passdir")
            if access(binary.string, X_OK) == 0 { return binary }
        }
        throw TestFailure("no passdir beside the test bundle; build it, or name it in PASSDIR_BINARY")
    }
}
