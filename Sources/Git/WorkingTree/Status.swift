import CGit
import Glibc
import SystemPackage

/// A path whose working file, index entry and committed blob are not all the same.
public struct WorkingTreeChange: Sendable, Equatable {
    /// What became of the file, seen from HEAD.
    public enum Kind: Sendable {
        /// Neither in the index nor ignored.
        case untracked
        /// Staged, and not in HEAD.
        case added
        /// Other content, mode or type.
        case modified
        /// Gone from the working tree, or from the index.
        case deleted
        /// A merge left it unresolved.
        case conflicted
        /// Not in the index, and git ignores it.
        case ignored
    }

    /// The path, relative to the top of the repository.
    public var path: FilePath
    /// What became of the file.
    public var kind: Kind
    /// The index differs from HEAD at this path: the user has staged something there.
    public var alsoStaged: Bool
    /// The working file differs from the index.
    public var unstaged: Bool
    /// It is a symbolic link, or was one.
    public var isLink: Bool
}

extension Repository {
    /// What `git status` lists: files, not folders; submodules and nested repositories are left out.
    /// - Parameters:
    ///   - prefix: only what is at or below this path; nil for everything.
    ///   - includingIgnored: whether ignored files are listed, too.
    /// - Throws: `.invalid` where a `.gitignore` or its kind is no file of ordinary size.
    public func changes(
        under prefix: FilePath? = nil, includingIgnored: Bool = false
    ) throws(GitError) -> [WorkingTreeChange] {
        if let top = workingDirectory { try RuleFiles.checkAll(top: top) }
        var options = git_status_options()
        git_status_options_init(&options, UInt32(GIT_STATUS_OPTIONS_VERSION))
        options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR
        options.flags =
            GIT_STATUS_OPT_INCLUDE_UNTRACKED.rawValue | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS.rawValue
            | GIT_STATUS_OPT_EXCLUDE_SUBMODULES.rawValue | GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH.rawValue
        if includingIgnored {
            options.flags |=
                GIT_STATUS_OPT_INCLUDE_IGNORED.rawValue | GIT_STATUS_OPT_RECURSE_IGNORED_DIRS.rawValue
        }
        var place: UnsafeMutablePointer<CChar>?
        if let prefix, !prefix.isEmpty {
            try checkedPath(prefix)
            place = prefix.withPlatformString { strdup($0) }
        }
        defer { free(place) }
        let list = try withUnsafeMutablePointer(to: &place) { strings throws(GitError) in
            if strings.pointee != nil { options.pathspec = git_strarray(strings: strings, count: 1) }
            return try Owned("cannot compare the working tree", free: git_status_list_free) {
                git_status_list_new(&$0, pointer, &options)
            }
        }
        var found: [WorkingTreeChange] = []
        var excused = excusedAbsences
        for position in 0..<git_status_list_entrycount(list.pointer) {
            if let entry = git_status_byindex(list.pointer, position),
                let change = Repository.change(entry.pointee)
            {
                if change.kind == .deleted, change.unstaged, try excused.contains(change.path) { continue }
                found.append(change)
            }
        }
        return found
    }

    /// Those of some paths that the user has staged, or a merge left unresolved. Looks at the index and the newest commit only.
    public func staged(of paths: Set<FilePath>) throws(GitError) -> Set<FilePath> {
        var options = git_status_options()
        git_status_options_init(&options, UInt32(GIT_STATUS_OPTIONS_VERSION))
        options.show = GIT_STATUS_SHOW_INDEX_ONLY
        options.flags = GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH.rawValue
        for path in paths { try checkedPath(path) }
        var places = paths.map { path in path.withPlatformString { strdup($0) } }
        defer { for place in places { free(place) } }
        return try places.withUnsafeMutableBufferPointer { strings throws(GitError) in
            options.pathspec = git_strarray(strings: strings.baseAddress, count: strings.count)
            let list = try Owned("cannot compare the index", free: git_status_list_free) {
                git_status_list_new(&$0, pointer, &options)
            }
            let names = (0..<git_status_list_entrycount(list.pointer)).compactMap { position in
                git_status_byindex(list.pointer, position)?.pointee.head_to_index?.pointee.new_file.path
            }
            return Set(names.map { FilePath(platformString: $0) }).intersection(paths)
        }
    }

    private static func change(_ entry: git_status_entry) -> WorkingTreeChange? {
        let delta = entry.index_to_workdir ?? entry.head_to_index
        guard let delta, let name = delta.pointee.new_file.path ?? delta.pointee.old_file.path else {
            return nil
        }
        // A nested repository, listed as a folder.
        if strlen(name) > 0, name[strlen(name) - 1] == CChar(bitPattern: UInt8(ascii: "/")) { return nil }
        let flags = entry.status.rawValue
        func has(_ states: git_status_t...) -> Bool { states.contains { flags & $0.rawValue != 0 } }
        let kind: WorkingTreeChange.Kind? =
            if has(GIT_STATUS_CONFLICTED) {
                .conflicted
            } else if has(GIT_STATUS_IGNORED) {
                .ignored
            } else if has(GIT_STATUS_WT_NEW) {
                .untracked
            } else if has(GIT_STATUS_WT_DELETED, GIT_STATUS_INDEX_DELETED) {
                .deleted
            } else if has(GIT_STATUS_INDEX_NEW) {
                .added
            } else if has(
                GIT_STATUS_WT_MODIFIED, GIT_STATUS_WT_TYPECHANGE, GIT_STATUS_INDEX_MODIFIED,
                GIT_STATUS_INDEX_TYPECHANGE)
            {
                .modified
            } else {
                nil
            }
        guard let kind else { return nil }
        return WorkingTreeChange(
            path: FilePath(platformString: name), kind: kind,
            alsoStaged: has(
                GIT_STATUS_INDEX_NEW, GIT_STATUS_INDEX_MODIFIED, GIT_STATUS_INDEX_DELETED,
                GIT_STATUS_INDEX_TYPECHANGE),
            unstaged: has(
                GIT_STATUS_WT_NEW, GIT_STATUS_WT_MODIFIED, GIT_STATUS_WT_DELETED, GIT_STATUS_WT_TYPECHANGE),
            isLink: [delta.pointee.old_file.mode, delta.pointee.new_file.mode].contains {
                $0 == UInt16(GIT_FILEMODE_LINK.rawValue)
            })
    }
}
