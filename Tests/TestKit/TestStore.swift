import Glibc
import SystemPackage

/// A password store made, written and read by `pass` itself.
public struct TestStore: Sendable {
    /// The home it is in.
    public let home: TestHome
    /// Its folder.
    public let path: FilePath
    /// The bare repository it is pushed to; nil where it has none.
    public let remote: FilePath?

    /// A store that is there already.
    public init(home: TestHome, path: FilePath, remote: FilePath? = nil) {
        self.home = home
        self.path = path
        self.remote = remote
    }

    /// Saves a secret with `pass insert`, byte for byte.
    public func insert(_ name: String, _ content: [UInt8]) throws {
        try pass(["insert", "--multiline", "--force", name], input: content)
    }

    /// Saves a secret with `pass insert`.
    public func insert(_ name: String, _ text: String) throws {
        try insert(name, Array(text.utf8))
    }

    /// What `pass show` prints, byte for byte.
    public func show(_ name: String) throws -> [UInt8] {
        try pass(["show", name])
    }

    /// Runs `pass` on this store; it must succeed.
    @discardableResult
    public func pass(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        try home.succeed(["pass"] + arguments, input: input, extra: ["PASSWORD_STORE_DIR": path.string])
    }

    /// Runs `git` in this store; it must succeed. The output without the newline at its end.
    @discardableResult
    public func git(_ arguments: String...) throws -> String {
        try Self.line(home.succeed(["git"] + arguments, in: path))
    }

    /// Runs `git` in the bare repository; it must succeed. The output without the newline at its end.
    @discardableResult
    public func remoteGit(_ arguments: String...) throws -> String {
        guard let remote else { throw TestFailure("\(path) has no remote") }
        return try Self.line(home.succeed(["git"] + arguments, in: remote))
    }

    /// The recipients' key ids of a secret's ciphertext, as `gpg --list-packets` shows them.
    public func recipientKeyIDs(of name: String) throws -> Set<String> {
        let file = path.pushing(FilePath(name + ".gpg")).string
        let packets = try home.succeed(["gpg", "--batch", "--list-packets", "--list-only", file])
        let lines = String(decoding: packets, as: UTF8.self).split(separator: "\n")
        return Set(
            lines.filter { $0.hasPrefix(":pubkey enc packet:") }.compactMap {
                $0.split(separator: " ").last.map(String.init)
            })
    }

    private static func line(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}

extension TestHome {
    /// Makes a store with `pass init`, and where wanted its git repository and a bare remote it is pushed to.
    ///
    /// - Parameters:
    ///   - name: its folder in the home.
    ///   - recipients: what `pass init` writes to `.gpg-id`.
    public func makeStore(
        _ name: String, recipients: [TestKey], git: Bool = true, remote: Bool = false
    ) throws -> TestStore {
        let bare = remote ? path(name + ".git") : nil
        let store = TestStore(home: self, path: path(name), remote: bare)
        try store.pass(["init"] + recipients.map(\.fingerprint))
        guard git || remote else { return store }
        try store.pass(["git", "init"])
        if let bare {
            try succeed(["git", "init", "--bare", bare.string])
            try store.git("remote", "add", "origin", bare.string)
            try store.git("push", "--set-upstream", "origin", "main")
        }
        return store
    }
}
