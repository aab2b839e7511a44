/// A remote's URL, with what it says about a user taken out of it.
///
/// `https://ann:token@host/x.git` is written to no configuration: the user name becomes a setting, the token a
/// credential.
public struct RemoteURL: Sendable, Equatable {
    /// The URL without a password, and over HTTP without a user name.
    public var text: String
    /// The user name that it had.
    public var userName: String?
    /// The password or token that it had.
    public var password: [UInt8]?
    /// The server's name, in lower case; empty for a path on this machine.
    public var host: String
    /// Over SSH.
    public var isSSH: Bool
    /// Over HTTP or HTTPS.
    public var isHTTP: Bool

    /// Reads a URL, the short form of SSH (`user@host:path`) or a path; nil when it is none that git could mean.
    public init?(_ url: String) {
        guard Self.objection(to: url) == nil, !url.contains(" ") else { return nil }
        (userName, password, host, isSSH, isHTTP) = (nil, nil, "", false, false)
        text = url
        if let mark = url.firstRange(of: "://") {
            let scheme = url[..<mark.lowerBound].lowercased()
            if scheme == "file" { return }
            (isSSH, isHTTP) = (scheme.contains("ssh"), scheme.hasPrefix("http"))
            let rest = url[mark.upperBound...]
            let authority = rest.prefix { !"/?#".contains($0) }
            guard !authority.isEmpty else { return nil }
            take(authority, prefix: url[..<mark.upperBound], path: rest[authority.endIndex...])
            return
        }
        // user@host:path, but not a path with a colon behind a slash.
        let head = url.prefix { $0 != "/" }
        if let colon = head.firstIndex(of: ":") {
            let place = head[..<colon]
            isSSH = true
            let at = place.lastIndex(of: "@")
            userName = at.map { String(place[..<$0]) }
            host = place[(at.map { place.index(after: $0) } ?? place.startIndex)...].lowercased()
            if host.isEmpty { return nil }
        }
    }

    private mutating func take(_ authority: Substring, prefix: Substring, path: Substring) {
        let at = authority.lastIndex(of: "@")
        let server = at.map { authority[authority.index(after: $0)...] } ?? authority
        host = Self.hostName(server)
        guard let at else { return }
        let user = authority[..<at]
        let name = user.prefix { $0 != ":" }
        if name.endIndex < user.endIndex {
            password = Self.decoded(user[user.index(after: name.endIndex)...])
        }
        userName = name.isEmpty ? nil : String(decoding: Self.decoded(name), as: UTF8.self)
        if isHTTP, password == nil, let userName, Self.looksLikeToken(userName) {
            // What GitHub and GitLab show for copying: a token in place of the user name.
            password = Array(userName.utf8)
            self.userName = "git"
        }
        if password?.isEmpty == true { password = nil }
        text = String(prefix) + (isHTTP || name.isEmpty ? "" : "\(name)@") + String(server) + String(path)
    }

    private static func hostName(_ server: Substring) -> String {
        if server.hasPrefix("[") { return String(server.prefix { $0 != "]" }.dropFirst()).lowercased() }
        return server.prefix { $0 != ":" }.lowercased()
    }

    private static func looksLikeToken(_ name: String) -> Bool {
        let prefixes = ["ghp_", "gho_", "github_pat_", "glpat-", "gldt-", "x-token-auth"]
        return prefixes.contains { name.hasPrefix($0) } || (name.utf8.count >= 30 && !name.contains("@"))
    }

    /// Percent-decoding (RFC 3986).
    private static func decoded(_ text: Substring) -> [UInt8] {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let code = UInt8(String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
            {
                result.append(code)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}
