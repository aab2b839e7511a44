import System

extension RemoteURL {
    /// What is never handed to git or ssh as a remote's URL, as what follows "because": programs of git's that the URL
    /// names (`ext::`, gitremote-helpers(7)), what ssh would take for an option, line breaks that forge a line of the
    /// credential protocol (git-credential(1)), names that programs read differently. nil for a URL or path to use.
    public static func objection(to url: String) -> String? {
        if url.isEmpty { return "it is empty" }
        if url.hasPrefix("-") { return "it would be read as an option" }
        if VisibleText.line(url) != url { return "it contains invisible characters" }
        let small = url.lowercased()
        if ["%00", "%0a", "%0d"].contains(where: { small.contains($0) }) {
            return "it contains an encoded line break"
        }
        let head = url.prefix { $0 != ":" }
        let isWord =
            !head.isEmpty
            && head.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        if isWord, url[head.endIndex...].hasPrefix("::") { return "\"\(head)::\" would run a program" }
        guard let mark = url.firstRange(of: "://") else { return objection(toShort: url) }
        let scheme = url[..<mark.lowerBound].lowercased()
        guard schemes.contains(scheme) else {
            return "\"\(scheme)://\" is not one of \(schemes.joined(separator: ", "))"
        }
        if scheme == "file" { return nil }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        // A browser takes it for a slash, curl for a part of the name.
        if authority.contains("\\") { return "it has a backslash before its path" }
        let at = authority.lastIndex(of: "@")
        if let at, authority[..<at].hasPrefix("-") { return "its user name would be read as an option" }
        let server = at.map { authority[authority.index(after: $0)...] } ?? authority
        var port = server.drop { $0 != ":" }
        if server.hasPrefix("["), let end = server.firstIndex(of: "]") {
            port = server[server.index(after: end)...]
        }
        if !port.isEmpty, !port.hasPrefix(":") || !port.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber })
        {
            return "its port is not a number"
        }
        return objection(toHost: server.dropLast(port.count))
    }

    /// What git may be told to speak.
    static let schemes = ["https", "http", "ssh", "git", "file", "git+ssh", "ssh+git"]

    /// `user@host:path`, or a path.
    private static func objection(toShort url: String) -> String? {
        let head = url.prefix { $0 != "/" }
        guard let colon = head.firstIndex(of: ":") else { return nil }
        let place = head[..<colon]
        if let at = place.lastIndex(of: "@"), place[..<at].hasPrefix("-") {
            return "its user name would be read as an option"
        }
        if url[url.index(after: colon)...].hasPrefix("-") { return "its path would be read as an option" }
        return objection(toHost: place.lastIndex(of: "@").map { place[place.index(after: $0)...] } ?? place)
    }

    private static func objection(toHost host: Substring) -> String? {
        if host.isEmpty { return "it names no host" }
        if host.hasPrefix("-") { return "its host would be read as an option" }
        let isName = host.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || ".-_:[]~%".unicodeScalars.contains(scalar)
        }
        return isName ? nil : "its host name is invalid"
    }
}
