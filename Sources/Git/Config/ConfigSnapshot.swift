import CGit
import SystemPackage

/// git's configuration as it was at one moment, whatever is written to it meanwhile.
///
/// Never asked by a regular expression: libgit2 1.5 loses 20 KiB with each variable that does not match, which a daemon
/// that looks after every commit would feel.
final class ConfigSnapshot {
    /// A variable, in the order of the files.
    struct Variable {
        /// With section and key in lower case.
        var name: String
        /// Nil for a bare name.
        var value: String?
        var level: git_config_level_t
        /// It stands in a file that another one includes.
        var isIncluded: Bool
    }

    private let config: Owned
    private static let doing = "cannot read the configuration"

    /// Of a repository, its user and the system.
    init(of repository: Repository) throws(GitError) {
        config = try Owned(Self.doing, free: git_config_free) {
            git_repository_config_snapshot(&$0, repository.pointer)
        }
    }

    /// Of the user and the system.
    init() throws(GitError) {
        LibGit2.start()
        config = try Owned(Self.doing, free: git_config_free) { git_config_open_default(&$0) }
    }

    /// Of one file.
    init(of file: FilePath) throws(GitError) {
        config = try Owned(Self.doing, free: git_config_free) { made in
            file.withPlatformString { git_config_open_ondisk(&made, $0) }
        }
    }

    /// The value of a variable, of several the last; nil when unset.
    func string(_ name: String) -> String? {
        (try? bufferText(Self.doing) { git_config_get_string_buf(&$0, config.pointer, name) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value as a truth value; nil when unset or none of git's words for one.
    func bool(_ name: String) -> Bool? {
        var value: Int32 = 0
        return git_config_get_bool(&value, config.pointer, name) == 0 ? value != 0 : nil
    }

    /// All variables, or those of a name.
    func variables(_ name: String? = nil) throws(GitError) -> [Variable] {
        var iterator: OpaquePointer?
        let code =
            name.map { git_config_multivar_iterator_new(&iterator, config.pointer, $0, nil) }
            ?? git_config_iterator_new(&iterator, config.pointer)
        try check(code, Self.doing)
        defer { git_config_iterator_free(iterator) }
        var found: [Variable] = []
        var entry: UnsafeMutablePointer<git_config_entry>?
        while git_config_next(&entry, iterator) == 0, let each = entry?.pointee {
            found.append(
                Variable(
                    name: String(cString: each.name), value: each.value.map { String(cString: $0) },
                    level: each.level, isIncluded: each.include_depth > 0))
        }
        return found
    }
}

extension Repository {
    /// The value of a setting as git sees it for this repository (`user.name`); nil when unset.
    public func config(_ name: String) -> String? { (try? ConfigSnapshot(of: self))?.string(name) }

    /// The value of a setting as a truth value; nil when unset or none of git's words for one.
    public func configBool(_ name: String) -> Bool? { (try? ConfigSnapshot(of: self))?.bool(name) }

    /// All values of a variable, in their order.
    func values(of variable: String) throws(GitError) -> [String] {
        try ConfigSnapshot(of: self).variables(variable).compactMap(\.value)
    }
}
