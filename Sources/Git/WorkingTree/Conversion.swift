import CGit
import Glibc
public import SystemPackage

/// A file's content on the way between the working tree and git, to be changed by programs (gitattributes(5): `filter`,
/// `working-tree-encoding`), which libgit2 does not run.
public struct ConversionRequest: Sendable {
    /// Where the content goes.
    public enum Direction: Sendable {
        /// As `git add` stores it.
        case toGit
        /// As `git checkout` writes it.
        case toWorkingTree
    }

    /// Where the content goes.
    public var direction: Direction
    /// The top of the working tree.
    public var top: FilePath
    /// The git folder.
    public var gitDirectory: FilePath
    /// The file's path, relative to the top.
    public var path: FilePath
    /// The content.
    public var bytes: [UInt8]
}

extension Repository {
    /// What git makes of a plain file's content: line ends, encodings, `$Id$` and the filters that the user's own
    /// configuration defines, as `.gitattributes`, `.git/info/attributes` and `core.autocrlf` say. A ciphertext is none of
    /// their business, whatever they say: what is called `.gpg` stays as it is. Of a list of recipients, and of a file of
    /// rules, only the line ends change: others push the attributes, and what is read there must be what was pushed.
    ///
    /// Others can name an encoding that nobody knows, and filters that fail here. On its way to the working tree what
    /// cannot be converted stays as it is.
    /// - Parameter path: relative to the top.
    /// - Throws: `.invalid` where a `.gitattributes` is no file of ordinary size; what the program says that cannot make
    ///   of a file what git would store.
    func converted(
        _ bytes: [UInt8], _ direction: ConversionRequest.Direction, at path: FilePath
    ) throws(GitError) -> [UInt8] {
        guard !StoreFile.isMessage(path), let top = workingDirectory else { return bytes }
        var folder = path
        while folder.removeLastComponent() { try RuleFiles.check(folder, top: top) }
        let request = ConversionRequest(
            direction: direction, top: top, gitDirectory: gitDirectory, path: path, bytes: bytes)
        let isReadAsItIs = Self.isReadAsItIs(path)
        if isReadAsItIs, direction == .toWorkingTree, isSet("ident", for: path) { return bytes }
        if !isReadAsItIs, needsProgram(path), let program = conversionProgram {
            return try converted(request, by: program)
        }
        let mode = direction == .toGit ? GIT_FILTER_TO_ODB : GIT_FILTER_TO_WORKTREE
        var filters: OpaquePointer?
        let code = path.withPlatformString {
            git_filter_list_load(&filters, pointer, nil, $0, mode, GIT_FILTER_ALLOW_UNSAFE.rawValue)
        }
        // An index that libgit2 cannot read (index.skipHash): it may hold a `.gitattributes` that is not checked out.
        if code < 0 {
            git_error_clear()
            guard let program = conversionProgram else { return bytes }
            return isReadAsItIs
                ? (try? program(request)) ?? bytes : try converted(request, by: program)
        }
        guard let filters else { return bytes }
        defer { git_filter_list_free(filters) }
        var buffer = git_buf()
        defer { git_buf_dispose(&buffer) }
        try check(
            bytes.withUnsafeBytes { raw in
                git_filter_list_apply_to_buffer(
                    &buffer, filters, raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count)
            }, "cannot convert \(path)")
        return Array(UnsafeRawBufferPointer(start: buffer.ptr, count: buffer.size))
    }

    private func converted(
        _ request: ConversionRequest, by program: (ConversionRequest) throws(GitError) -> [UInt8]
    ) throws(GitError) -> [UInt8] {
        do throws(GitError) {
            return try program(request)
        } catch {
            guard request.direction == .toWorkingTree else { throw error }
            return request.bytes
        }
    }

    /// The name of the blob that git would store for a plain file.
    /// - Parameters:
    ///   - path: relative to the top.
    ///   - known: the contents that nobody has edited. Where a file cannot be converted and is one of them byte for byte,
    ///     it was put there like that.
    func blobID(
        ofFile bytes: [UInt8], at path: FilePath, known: [ObjectID]
    ) throws(GitError) -> ObjectID {
        do throws(GitError) {
            return try Repository.blobID(of: converted(bytes, .toGit, at: path))
        } catch {
            let raw = try Repository.blobID(of: bytes)
            guard known.contains(raw) else { throw error }
            return raw
        }
    }

    /// Whether passdir, pass or git itself reads a file in the working tree, for whom to encrypt to or what to do.
    private static func isReadAsItIs(_ path: FilePath) -> Bool {
        guard let name = path.lastComponent?.string else { return false }
        return StoreFile.lists.contains(name) || RuleFiles.names.contains(name)
    }

    private func needsProgram(_ path: FilePath) -> Bool {
        if let encoding = attribute("working-tree-encoding", of: path) {
            return encoding.lowercased() != "utf-8"
        }
        // A filter that nobody has defined is none.
        guard let filter = attribute("filter", of: path) else { return false }
        return ["clean", "smudge", "process"].contains { config("filter.\(filter).\($0)") != nil }
    }

    /// Whether an attribute is set without a value.
    private func isSet(_ name: String, for path: FilePath) -> Bool {
        var value: UnsafePointer<CChar>?
        let code = path.withPlatformString { git_attr_get(&value, pointer, 0, $0, name) }
        return code == 0 && git_attr_value(value) == GIT_ATTR_VALUE_TRUE
    }

    /// The value of an attribute; nil when it has none.
    private func attribute(_ name: String, of path: FilePath) -> String? {
        var value: UnsafePointer<CChar>?
        let code = path.withPlatformString { git_attr_get(&value, pointer, 0, $0, name) }
        guard code == 0, let value, git_attr_value(value) == GIT_ATTR_VALUE_STRING else { return nil }
        return String(cString: value)
    }
}
