/// Whether a redirect of an HTTP server leads to another one.
public enum Redirection {
    /// The repository's URL that a redirect of its `info/refs` names, where it is on the same server: same scheme, host and
    /// port, or HTTPS in place of HTTP at the usual ports. nil where it leads elsewhere.
    ///
    /// - Parameters:
    ///   - url: the URL that was asked.
    ///   - location: the `Location` header of the answer.
    public static func followed(from url: String, to location: String) -> String? {
        guard let (scheme, server) = ServerBoundary.server(of: url), scheme.hasPrefix("http"),
            let mark = url.firstRange(of: "://"), let end = location.firstRange(of: "/info/refs")
        else { return nil }
        let place = location[..<end.lowerBound]
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        if place.hasPrefix("/"), !place.hasPrefix("//") {
            return "\(url[..<mark.upperBound])\(authority)\(place)"
        }
        guard let (otherScheme, other) = ServerBoundary.server(of: String(place)), other.host == server.host,
            otherScheme == scheme && other.port == server.port
                || (scheme, server.port) == ("http", "80") && (otherScheme, other.port) == ("https", "443"),
            let otherMark = place.firstRange(of: "://")
        else { return nil }
        let rest = place[otherMark.upperBound...]
        let path = rest.drop { $0 != "/" }
        let shown = rest.prefix { $0 != "/" }
        // Nobody but the user says who the user is.
        let user = authority.lastIndex(of: "@").map { authority[...$0] } ?? ""
        let host = shown.lastIndex(of: "@").map { shown[shown.index(after: $0)...] } ?? shown
        return "\(place[..<otherMark.upperBound])\(user)\(host)\(path)"
    }
}
