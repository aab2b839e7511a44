/// The part of gopass's old `config.yml` that names stores: `path`, or `path` below `root`, and `mounts`, which has a
/// path a name, or a map with a `path` a name. No YAML beyond that is read.
struct GopassYAML {
    /// The root store has no mount name.
    private(set) var stores: [(mount: String?, path: String)] = []

    init(_ text: String) {
        // The keys above the present line, with their indentation.
        var above: [(indent: Int, key: String)] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let indent = line.prefix { $0 == " " }.count
            let content = line.dropFirst(indent)
            guard !content.isEmpty, !content.hasPrefix("#"), content != "---", !content.hasPrefix("-") else {
                continue
            }
            guard let (key, value) = Self.pair(content) else { continue }
            above.removeAll { $0.indent >= indent }
            let path = above.map(\.key) + [key]
            above.append((indent, key))
            guard !value.isEmpty else { continue }
            if path == ["path"] || path == ["root", "path"] { stores.append((nil, value)) }
            guard path.first == "mounts" else { continue }
            if path.count == 2 { stores.append((path[1], value)) }
            if path.count == 3, path[2] == "path" { stores.append((path[1], value)) }
        }
    }

    private static func pair(_ text: Substring) -> (String, String)? {
        var rest = text
        let key: String
        if let quote = rest.first, quote == "\"" || quote == "'" {
            guard let end = rest.dropFirst().firstIndex(of: quote) else { return nil }
            key = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
            guard rest.first == ":" else { return nil }
        } else {
            // A colon that ends a key is followed by a space or the end; others belong to it.
            guard
                let colon = rest.indices.first(where: { index in
                    let next = rest.index(after: index)
                    return rest[index] == ":" && (next == rest.endIndex || rest[next] == " ")
                })
            else { return nil }
            key = String(rest[..<colon])
            rest = rest[colon...]
        }
        return (key, unquoted(rest.dropFirst().drop { $0 == " " }))
    }

    private static func unquoted(_ text: Substring) -> String {
        if let quote = text.first, quote == "\"" || quote == "'" {
            let inner = text.dropFirst()
            return String(inner.prefix { $0 != quote })
        }
        var value = text
        if let comment = value.firstRange(of: " #") { value = value[..<comment.lowerBound] }
        while value.last?.isWhitespace == true { value.removeLast() }
        return String(value)
    }
}
