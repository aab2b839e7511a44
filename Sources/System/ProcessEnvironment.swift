import Glibc

/// The environment of this process.
public enum ProcessEnvironment {
    /// All variables, but for some.
    public static func variables(without names: [String] = []) -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let pair = entry.pointee {
            let text = String(cString: pair)
            if let split = text.firstIndex(of: "=") {
                variables[String(text[..<split])] = String(text[text.index(after: split)...])
            }
            entry += 1
        }
        for name in names { variables[name] = nil }
        return variables
    }
}
