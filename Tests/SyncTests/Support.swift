import Git
import Glibc
import Logging
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage
import TestKit

@testable import Sync

/// One machine with a clone of a store, its committer and what it needs; several share a home and a remote.
struct Machine: Sendable {
    let home: TestHome
    let path: FilePath
    let store: Store
    let committer: Committer

    private static let isolated: Void = LibGit2.setGlobalConfigSearchPath("/nonexistent")

    init(
        _ home: TestHome, _ path: FilePath, storeOptions: (inout Store.Options) -> Void = { _ in },
        _ change: (inout Committer.Options) -> Void = { _ in }
    ) throws {
        _ = Self.isolated
        self.home = home
        self.path = path
        var applying = Store.Options(secretLimit: 1 << 20, promptTimeout: .seconds(20))
        storeOptions(&applying)
        store = Store(
            name: path.lastComponent?.string ?? "", identifier: path.string, root: try Root(path: path),
            engine: OpenPGPEngine(home: home.path("gnupg")), options: applying,
            learned: try LearnedState(file: home.path("\(path.lastComponent?.string ?? "").sqlite")))
        var options = Committer.Options(
            // Nothing happens by itself: the test says when.
            delay: .seconds(3600), pushTimeout: .seconds(20), program: try TestHome.passdirBinary())
        change(&options)
        committer = Committer(
            store: store, options: options, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// What somebody knows of the store who works for it without its committer; errands are nobody's.
    func aloneState(_ change: (inout Committer.Options) -> Void = { _ in }) -> StoreState {
        var options = committer.options
        change(&options)
        return StoreState(
            store, options: options, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Saves as the mount does, and notes it.
    func save(_ name: String, _ text: String) throws {
        try write(name, text)
        committer.note(.saved(FilePath(name + ".gpg")))
    }

    /// Saves without a word to the committer.
    func write(_ name: String, _ text: String) throws {
        try write(name, Array(text.utf8))
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let path = FilePath(name + ".gpg")
        var folder = FilePath()
        for component in path.removingLastComponent().components {
            folder.append(component)
            try? store.root.makeDirectory(folder)
        }
        let secret = try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
        _ = try store.stage(secret, for: path).publish(as: path)
        try store.root.synchronizeParent(of: path)
    }

    func remove(_ name: String) throws {
        try store.root.unlink(FilePath(name + ".gpg"))
        committer.note(.removed(FilePath(name + ".gpg")))
    }

    func rename(_ name: String, to other: String) throws {
        try store.root.rename(FilePath(name + ".gpg"), to: FilePath(other + ".gpg"))
        committer.note(.renamed(from: FilePath(name + ".gpg"), to: FilePath(other + ".gpg")))
    }

    /// What `status` says of secrets that a merge has left encrypted to former recipients.
    var driftSentence: String? { committer.state.driftSentence }

    /// What a secret holds; nil when it is not there.
    func read(_ name: String) throws -> String? {
        guard try store.root.statusIfPresent(of: FilePath(name + ".gpg")) != nil else { return nil }
        let plain = try store.plaintext(of: FilePath(name + ".gpg"), cancellation: nil)
        return plain.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @discardableResult
    func git(_ arguments: String...) throws -> String {
        let bytes = try home.succeed(["git"] + arguments, in: path)
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// Runs pass on this machine's clone; it must succeed.
    func pass(_ arguments: [String], _ input: String = "") throws {
        try home.succeed(
            ["pass"] + arguments, input: Array(input.utf8), extra: ["PASSWORD_STORE_DIR": path.string])
    }

    /// The names of the secrets on disk.
    var names: [String] {
        get throws {
            try git("ls-files", "--cached", "--others", "*.gpg").split(separator: "\n")
                .map { String($0.dropLast(4)) }.sorted()
        }
    }

    /// Waits until nothing waits to be committed.
    func settle() async throws {
        for _ in 0..<500 {
            if committer.status.pendingChanges == 0 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw TestFailure("changes are not committed: \(committer.status)")
    }

    /// Commits what waits right now.
    func commit() async throws {
        await committer.commitPending()
        guard committer.status.pendingChanges == 0 else {
            throw TestFailure("not committed: \(committer.status.lastError ?? "?")")
        }
    }

    /// What `git status` shows, without a word when index, branch and working tree agree.
    var dirt: String {
        get throws { try git("status", "--porcelain", "--untracked-files=all") }
    }
}

extension TestHome {
    /// A store made by pass with a remote, and as many machines with a clone of it.
    func machines(
        _ count: Int, passphrase: String = "", _ change: (inout Committer.Options) -> Void = { _ in }
    ) throws -> [Machine] {
        let key = try makeKey("one@example.org", passphrase: passphrase)
        let first = try makeStore("m0", recipients: [key], remote: true)
        var machines = [try Machine(self, first.path, change)]
        for number in 1..<max(count, 1) where number < count {
            try succeed(["git", "clone", "-q", path("m0.git").string, path("m\(number)").string])
            machines.append(try Machine(self, path("m\(number)"), change))
        }
        return machines
    }
}

extension TestHome {
    /// Writes at the end of a file in the home.
    func append(_ text: String, to name: String) throws {
        let file = try FileDescriptor.open(path(name), .writeOnly, options: [.append])
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }
}

/// Runs something the first time.
final class Once: Sendable {
    private let isDone = Mutex(false)

    var hasRun: Bool { isDone.withLock { $0 } }

    func run(_ body: () -> Void) {
        let isFirst = isDone.withLock { isDone in
            defer { isDone = true }
            return !isDone
        }
        if isFirst { body() }
    }
}

extension Committer {
    /// Keeps beside the working tree what waits and cannot be committed, right now.
    func keepPending() { writer.keepPending() }
}
