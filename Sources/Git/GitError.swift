import CGit
public import System
import SystemPackage

/// What went wrong in git: a code for programs, one sentence for people.
public struct GitError: SentenceError, Equatable {
    /// The kinds of failure that a caller treats differently.
    public enum Code: Sendable, Equatable {
        /// A repository, reference, object or setting isn't there.
        case notFound
        /// Another process holds `index.lock` or the lock of a reference: try again in a moment.
        case locked
        /// The remote has commits that the pushed branch lacks: fetch and merge first.
        case nonFastForward
        /// The reference moved since it was read: build again on its new tip.
        case modified
        /// The server wants credentials and took none that were offered.
        case authentication
        /// The server's certificate or host key isn't trusted.
        case certificate
        /// The server cannot be reached or broke the connection off.
        case network
        /// The server redirects to another one, which was not followed and told nothing.
        case redirected
        /// The server refused to update the reference; the message holds what it (or its hook) said.
        case rejected
        /// The repository holds data that cannot be read.
        case corrupt
        /// This machine has no memory, no descriptor or no space left, or its disk did not read or write: nothing is told of
        /// the repository.
        case machine
        /// libgit2 has no support for what this repository uses.
        case unsupported
        /// The branch has no commit yet.
        case unbornBranch
        /// An argument or name is not valid.
        case invalid
        /// The repository belongs to another user and `safe.directory` doesn't list it.
        case untrustedOwner
        /// A callback asked to stop.
        case cancelled
        /// Everything else.
        case other
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence, without a full stop and without credentials.
    public var message: String
    /// libgit2's own code (`GIT_ENOTFOUND` is -3), 0 when the failure isn't libgit2's.
    public var libgit2Code: Int32

    /// An error of the code and sentence given.
    public init(code: Code, message: String, libgit2Code: Int32 = 0) {
        self.code = code
        self.message = Self.withoutFullStop(message)
        self.libgit2Code = libgit2Code
    }
}

extension GitError {
    /// The failure that libgit2 reported last on this thread; call it right after the failed call.
    static func last(_ code: Int32, _ doing: String) -> GitError {
        var reason = ""
        var area = GIT_ERROR_NONE
        if let last = git_error_last() {
            area = git_error_t(rawValue: UInt32(bitPattern: last.pointee.klass))
            if let text = last.pointee.message { reason = cleaned(String(cString: text)) }
        }
        git_error_clear()
        // 1.5.1 says -36 only where `safe.directory` is set to something else; unset, it says that it misses it.
        let untrusted = reason.contains("'safe.directory' was not found")
        let kind = untrusted ? .untrustedOwner : kind(code, area, reason)
        if kind == .untrustedOwner {
            reason = "it belongs to another user; `git config --global --add safe.directory FOLDER` trusts it"
        }
        if let advice = adviceForIndex(reason) {
            return GitError(code: .unsupported, message: "\(doing): \(advice)", libgit2Code: code)
        }
        return GitError(
            code: kind, message: reason.isEmpty ? "\(doing) (libgit2 \(code))" : "\(doing): \(reason)",
            libgit2Code: code)
    }

    /// What libgit2 1.5.1 says of an index in a form that it does not read, with what helps; nil where it says something
    /// else.
    private static func adviceForIndex(_ reason: String) -> String? {
        reason.firstRange(of: "unsupported mandatory extension: '").map {
            adviceForIndex(extension: String(reason[$0.upperBound...].prefix(4)))
        }
    }

    /// What helps where an index has an extension that must be known to read it (gitformat-index).
    static func adviceForIndex(extension name: String) -> String {
        switch name {
        case "link":
            "it is a split index, which passdir does not support: run git update-index --no-split-index, and "
                + "git config core.splitIndex false if that is set"
        case "sdir":
            "it is a sparse index, which passdir does not support: run git sparse-checkout reapply --no-sparse-index"
        default:
            "it has the extension '\(name)', which passdir does not support: rm .git/index && git reset "
                + "recreates it, without what is staged"
        }
    }

    /// The failure of a system call, from `errno`.
    static func system(_ errno: Errno, _ doing: String) -> GitError {
        let code: Code = errno == .fileExists ? .locked : ofMachine.contains(errno) ? .machine : .other
        return GitError(code: code, message: "\(doing): \(errno)")
    }

    /// What the machine refuses whatever the repository holds.
    static let ofMachine: [Errno] = [
        .noMemory, .noSpace, .diskQuotaExceeded, .tooManyOpenFiles, .tooManyOpenFilesInSystem, .ioError,
        .permissionDenied, .readOnlyFileSystem,
    ]

    /// Whether a sentence ends with what the system says of such a refusal.
    public static func isOfMachine(_ said: String) -> Bool {
        ofMachine.contains { said.contains("\($0)") }
    }

    /// Makes such errors of what was to be done.
    static func system(_ doing: String) -> (Errno) -> GitError { { system($0, doing) } }

    /// Puts what a system call says under a sentence.
    static func wrapping<Value>(
        _ doing: @autoclosure () -> String, _ work: @autoclosure () throws(Errno) -> Value
    ) throws(GitError) -> Value {
        do throws(Errno) { return try work() } catch { throw system(error, doing()) }
    }

    /// libgit2's codes and error classes in the terms of `Code`. Where libgit2 has the plain code -1 only, its
    /// message decides: the texts are those of 1.5.1.
    private static func kind(_ code: Int32, _ area: git_error_t, _ reason: String) -> Code {
        switch git_error_code(rawValue: code) {
        case GIT_ENOTFOUND: return .notFound
        case GIT_ELOCKED: return .locked
        case GIT_ENONFASTFORWARD: return .nonFastForward
        case GIT_EMODIFIED: return .modified
        case GIT_EAUTH: return .authentication
        case GIT_ECERTIFICATE: return .certificate
        case GIT_EMISMATCH: return .corrupt
        case GIT_EUNBORNBRANCH: return .unbornBranch
        case GIT_EINVALIDSPEC, GIT_EINVALID, GIT_EAMBIGUOUS: return .invalid
        case GIT_EBAREREPO: return .unsupported
        case GIT_EOWNER: return .untrustedOwner
        case GIT_EUSER: return .cancelled
        default: break
        }
        // Before the area: that says where it happened, and not why.
        if area == GIT_ERROR_NOMEMORY || area == GIT_ERROR_OS && isOfMachine(reason) { return .machine }
        if reason.contains("unsupported") { return .unsupported }
        if reason.contains("status code: 401") || reason.contains("status code: 403")
            || reason.contains("authentication replays") || reason.contains("authenticat")
        {
            return .authentication
        }
        switch area {
        case GIT_ERROR_NET, GIT_ERROR_HTTP, GIT_ERROR_SSH, GIT_ERROR_SSL: return .network
        // A connection that broke off.
        case GIT_ERROR_INDEXER where reason.contains("early EOF"): return .network
        case GIT_ERROR_INDEXER, GIT_ERROR_ZLIB, GIT_ERROR_ODB, GIT_ERROR_OBJECT, GIT_ERROR_INDEX,
            GIT_ERROR_SHA:
            return .corrupt
        case GIT_ERROR_INVALID where reason.contains("delta") || reason.contains("base does not match"):
            return .corrupt
        default: return .other
        }
    }

    /// One line, no trailing punctuation, no password of a URL; cut where a server talks without end.
    static func cleaned(_ text: String) -> String {
        let limit = 1000
        let isLong = text.unicodeScalars.count > limit
        let start = String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit))) + (isLong ? "…" : "")
        let lines = start.split(whereSeparator: \.isNewline).map { line in
            var line = line.drop(while: \.isWhitespace)
            while let last = line.last, last.isWhitespace || ":;.".contains(last) { line.removeLast() }
            return line
        }
        let line = lines.filter { !$0.isEmpty }.joined(separator: "; ")
        return withoutPasswords(line)
    }

    /// A sentence of ours, or what a program said, as a part of another sentence: that one ends with the full stop.
    public static func withoutFullStop(_ text: String) -> String {
        var text = Substring(text)
        while let last = text.last, last == "." || last.isWhitespace { text.removeLast() }
        return String(text)
    }

    /// A URL for a sentence: without the password in it.
    public static func cleanedURL(_ url: String) -> String { withoutPasswords(url) }

    /// Whether git says on a server that the branch moved between its list and our turn: "cannot lock ref 'refs/heads/main':
    /// is at ... but expected ...".
    public static func isOvertaken(_ said: String) -> Bool {
        said.contains("cannot lock ref") && said.contains(" but expected ")
    }

    /// `scheme://user:password@host` becomes `scheme://user@host`.
    public static func withoutPasswords(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let found = rest.firstRange(of: "://") {
            result += rest[..<found.upperBound]
            rest = rest[found.upperBound...]
            let end = rest.firstIndex { "/ '\"".contains($0) } ?? rest.endIndex
            guard let at = rest[..<end].lastIndex(of: "@") else { continue }
            result += rest[..<at].prefix { $0 != ":" }
            rest = rest[at...]
        }
        return result + rest
    }
}

/// Whether libgit2 says that a thing is not there, where that is an answer: what it reported is forgotten, as a call that fails
/// later and reports nothing would be told by it.
func isAbsent(_ code: Int32) -> Bool {
    guard code == GIT_ENOTFOUND.rawValue else { return false }
    git_error_clear()
    return true
}

/// Throws what libgit2 reported on this thread when `code` is a failure.
func check(_ code: Int32, _ doing: @autoclosure () -> String) throws(GitError) {
    if code < 0 { throw GitError.last(code, doing()) }
}
