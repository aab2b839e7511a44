import CGit

/// Git's configuration of the system and the user, outside of any repository.
public enum UserConfiguration {
    /// The value of a setting (`http.sslCAInfo`); nil when unset.
    public static func string(_ name: String) -> String? {
        LibGit2.start()
        var config: OpaquePointer?
        guard git_config_open_default(&config) == 0 else { return nil }
        defer { git_config_free(config) }
        var value = git_buf()
        guard git_config_get_string_buf(&value, config, name) == 0, let text = value.ptr else { return nil }
        defer { git_buf_dispose(&value) }
        return String(cString: text)
    }
}
