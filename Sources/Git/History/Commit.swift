import CGit

/// What a commit says.
public struct CommitInfo: Sendable, Equatable {
    /// Its name.
    public var id: ObjectID
    /// Its tree.
    public var tree: ObjectID
    /// Its parents, first one first.
    public var parents: [ObjectID]
    /// Who wrote the change.
    public var author: Signature
    /// Who made the commit.
    public var committer: Signature
    /// The whole message, with its final newline; of one of others' that is longer, the first `longestMessage` bytes.
    public var message: String
    /// How many bytes of a message are read.
    public static let longestMessage = 64 << 10
}

extension Repository {
    /// Makes a commit that no branch points to yet; `move` puts a branch on it.
    /// - Parameters:
    ///   - message: a final newline is added when it has none.
    ///   - sign: returns the detached, armoured signature of the bytes it is given; nil leaves the commit unsigned.
    /// - Throws: `.other` with the reason of `sign`.
    public func makeCommit(
        tree: ObjectID, parents: [ObjectID], message: String, author: Signature, committer: Signature,
        sign: (([UInt8]) throws -> [UInt8])? = nil
    ) throws(GitError) -> ObjectID {
        guard !message.utf8.contains(0) else {
            throw GitError(code: .invalid, message: "a commit message cannot hold a NUL byte")
        }
        let text = message.hasSuffix("\n") ? message : message + "\n"
        let content = try commitContent(tree, parents, text, author, committer)
        guard let sign else { return try store(content, signature: nil) }
        return try store(content, signature: try signature(of: content, sign))
    }

    private func commitContent(
        _ tree: ObjectID, _ parents: [ObjectID], _ message: String, _ author: Signature,
        _ committer: Signature
    ) throws(GitError) -> [UInt8] {
        let root = try self.tree(of: tree)
        var commits: [OpaquePointer?] = []
        defer { for commit in commits { git_commit_free(commit) } }
        for parent in parents {
            var oid = parent.oid
            var commit: OpaquePointer?
            try check(git_commit_lookup(&commit, pointer, &oid), "cannot read the parent \(parent)")
            commits.append(commit)
        }
        var buffer = git_buf()
        defer { git_buf_dispose(&buffer) }
        let code = try author.with { one in
            var inner: Int32 = 0
            let outer = Result { () throws(GitError) in
                inner = try committer.with { two in
                    git_commit_create_buffer(
                        &buffer, pointer, one, two, nil, message, root.pointer, commits.count, &commits)
                }
            }
            if case .failure(let error) = outer { return error.libgit2Code }
            return inner
        }
        try check(code, "cannot write a commit")
        return Array(UnsafeRawBufferPointer(start: buffer.ptr, count: buffer.size))
    }

    /// The signature as text; libgit2 would turn a final newline into an empty header line.
    private func signature(
        of content: [UInt8], _ sign: ([UInt8]) throws -> [UInt8]
    ) throws(GitError) -> String {
        do {
            var text = String(decoding: try sign(content), as: UTF8.self)
            while text.last?.isNewline == true { text.removeLast() }
            return text
        } catch {
            throw GitError(code: .other, message: "cannot sign the commit: \(error)")
        }
    }

    private func store(_ content: [UInt8], signature: String?) throws(GitError) -> ObjectID {
        var oid = git_oid()
        var code: Int32
        if let signature {
            let text = String(decoding: content, as: UTF8.self)
            code = git_commit_create_with_signature(&oid, pointer, text, signature, nil)
        } else {
            var database: OpaquePointer?
            code = git_repository_odb(&database, pointer)
            defer { git_odb_free(database) }
            if code == 0 {
                code = content.withUnsafeBytes {
                    git_odb_write(&oid, database, $0.baseAddress!, $0.count, GIT_OBJECT_COMMIT)
                }
            }
        }
        try check(code, "cannot write a commit")
        return ObjectID(oid)
    }
}
