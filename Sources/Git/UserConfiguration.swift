import CGit
import Glibc

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

    /// The proxies that the user's configuration and the environment name: `http.proxy`, those of single URLs and remotes,
    /// `https_proxy` and its kind.
    static func proxies() -> [String] {
        LibGit2.start()
        var config: OpaquePointer?
        guard git_config_open_default(&config) == 0 else { return proxies(nil) }
        defer { git_config_free(config) }
        return proxies(config)
    }

    /// As `proxies()`, of a configuration that is open.
    static func proxies(_ config: OpaquePointer?) -> [String] {
        var found: [String] = []
        if let config {
            withUnsafeMutablePointer(to: &found) { found in
                _ = git_config_foreach_match(
                    config, "^(http|remote)\\..*proxy$",
                    { entry, found in
                        guard let value = entry?.pointee.value else { return 0 }
                        found!.assumingMemoryBound(to: [String].self).pointee.append(String(cString: value))
                        return 0
                    }, found)
            }
        }
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            if let value = getenv(name) { found.append(String(cString: value)) }
        }
        return found.filter { !$0.isEmpty }
    }
}
