import CGit
import Glibc

/// Git's configuration of the system and the user, outside of any repository.
public enum UserConfiguration {
    /// The value of a setting (`http.sslCAInfo`); nil when unset.
    public static func string(_ name: String) -> String? { (try? ConfigSnapshot())?.string(name) }

    /// The proxies that a configuration and the environment name: `http.proxy`, those of single URLs and remotes,
    /// `https_proxy` and its kind.
    static func proxies(_ config: ConfigSnapshot?) -> [String] {
        let variables = (try? config?.variables()) ?? []
        var found = variables.filter { variable in
            ["http.", "remote."].contains { variable.name.hasPrefix($0) } && variable.name.hasSuffix("proxy")
        }.compactMap(\.value)
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            if let value = getenv(name) { found.append(String(cString: value)) }
        }
        return found.filter { !$0.isEmpty }
    }
}
