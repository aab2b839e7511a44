import CGit
import Glibc
public import SystemPackage

extension Repository {
    /// The signature of a commit and the bytes that it is of; nil when the commit is not signed.
    public func signature(of commit: ObjectID) throws(GitError) -> (signature: [UInt8], signed: [UInt8])? {
        var signature = git_buf()
        var signed = git_buf()
        defer {
            git_buf_dispose(&signature)
            git_buf_dispose(&signed)
        }
        var oid = commit.oid
        let code = git_commit_extract_signature(&signature, &signed, pointer, &oid, nil)
        if isAbsent(code) { return nil }
        try check(code, "cannot read the signature of \(commit)")
        return (Self.bytes(signature), Self.bytes(signed))
    }

    private static func bytes(_ buffer: git_buf) -> [UInt8] {
        guard let start = buffer.ptr else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: buffer.size))
    }

    /// The newest commit in which a file became what it is in `tip`; looks at no more than `limit` commits.
    /// - Parameter path: relative to the top of the repository.
    public func lastChange(
        of path: FilePath, from tip: ObjectID, limit: Int = 1000
    ) throws(GitError) -> CommitInfo? {
        let now = try blobID(at: path, in: tip)
        var last: CommitInfo?
        for info in try log(from: tip, limit: limit) {
            guard try blobID(at: path, in: info.id) == now else { continue }
            // A commit that brought it: none of its parents has it so.
            var hadIt = false
            for parent in info.parents where try blobID(at: path, in: parent) == now { hadIt = true }
            if !hadIt { last = info }
            if last != nil { break }
        }
        return last
    }
}
