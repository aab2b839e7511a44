import CGit

extension Repository {
    /// The commit that a name means: an id or its beginning, a branch, a tag, `HEAD~3`, `main@{yesterday}`.
    ///
    /// 7 to 40 hexadecimal digits with which the id of a commit begins mean that commit. Git and libgit2 take a tag or branch of
    /// that name first, and others push these; here it is named by its whole name, `refs/tags/…`.
    /// - Throws: `.invalid`, with a sentence of ours, where the ids of several objects begin so, or could, and for what is there
    ///   and no commit.
    public func commit(named name: String) throws(GitError) -> ObjectID {
        let end = name.firstIndex { $0 == "~" || $0 == "^" } ?? name.endIndex
        let found = try commit(abbreviated: name[..<end])
        let name = found.map { $0.hex + name[end...] } ?? name
        let object = try meant(by: name)
        do throws(GitError) {
            let commit = try Owned("cannot read the commit \(name)", free: git_object_free) {
                git_object_peel(&$0, object.pointer, GIT_OBJECT_COMMIT)
            }
            return ObjectID(git_object_id(commit.pointer).pointee)
        } catch {
            guard [GIT_EPEEL.rawValue, GIT_EINVALIDSPEC.rawValue].contains(error.libgit2Code) else {
                throw error
            }
            let kind = git_object_type(object.pointer) == GIT_OBJECT_TREE ? "folder" : "file"
            throw GitError(
                code: .invalid,
                message: "\"\(name)\" is a \(kind) in git, and no commit: passdir log lists the commits",
                libgit2Code: error.libgit2Code)
        }
    }

    /// The object that an expression of git means.
    /// - Throws: `.notFound`, too, for what is no expression.
    private func meant(by name: String) throws(GitError) -> Owned {
        do throws(GitError) {
            return try Owned("\(name) is not a commit", free: git_object_free) {
                git_revparse_single(&$0, pointer, name)
            }
        } catch {
            switch error.libgit2Code {
            case GIT_EAMBIGUOUS.rawValue:
                let digits = name.prefix { $0 != "~" && $0 != "^" && $0 != ":" }
                throw GitError(
                    code: .invalid,
                    message: digits.utf8.count < Self.fewestDigits
                        ? "\"\(digits)\" is too short for the id of a commit: type at least \(Self.fewestDigits) of its digits"
                        : Self.ambiguity(digits),
                    libgit2Code: error.libgit2Code)
            case GIT_EINVALIDSPEC.rawValue:
                throw GitError(
                    code: .notFound, message: "\(name) names no commit", libgit2Code: error.libgit2Code)
            default: throw error
            }
        }
    }

    /// Digits of an id, as many as libgit2 wants (GIT_OID_MINPREFIXLEN).
    private static let fewestDigits = 4

    private static func ambiguity(_ digits: Substring) -> String {
        "several ids begin with \(digits): type more digits, or refs/tags/\(digits) for a tag"
    }

    /// The commit whose id begins with these digits; nil where there is none, or the text is no beginning of an id.
    private func commit(abbreviated text: Substring) throws(GitError) -> ObjectID? {
        let count = text.utf8.count
        guard (7...40).contains(count), text.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit) else {
            return nil
        }
        var beginning = git_oid()
        try check(git_oid_fromstrn(&beginning, String(text), count), "\(text) is not a commit")
        var commit: OpaquePointer?
        defer { git_commit_free(commit) }
        let code = git_commit_lookup_prefix(&commit, pointer, &beginning, count)
        if code == GIT_EAMBIGUOUS.rawValue {
            throw GitError(
                code: .invalid,
                message: Self.ambiguity(text), libgit2Code: code)
        }
        guard code != GIT_ENOTFOUND.rawValue else { return nil }
        try check(code, "cannot read the commit \(text)")
        return ObjectID(git_commit_id(commit).pointee)
    }
}
