/// How values are written into a file, so that who reads it gets them as they are.
///
/// Where a reference stands inside quotes, its value is written for inside these; else it becomes a whole quoted word, where the
/// kind has such. What cannot be written at its place is an error, never a file that reads as something else.
public enum Escaping: String, Sendable, CaseIterable {
    /// As they are, byte for byte, whatever they hold.
    case raw
    /// Files of variables, `.env`: see `DotenvSyntax`.
    case dotenv
    /// JSON (RFC 8259): see `JSONSyntax`.
    case json
    /// YAML 1.2: see `YAMLSyntax`.
    case yaml
    /// Scripts for a POSIX shell: see `ShellSyntax`.
    case shell
    /// Files of sections and keys, as Python's configparser reads them: see `INISyntax`.
    case ini
    /// XML 1.0: see `XMLSyntax`.
    case xml

    /// The kind by the name of a file; `raw` for one that says nothing.
    ///
    /// `.tpl` and `.tmpl` at the end are looked through. `.env` is dotenv, also with something behind it (`.env.local`) and before it
    /// (`prod.env`); `.json`, `.yaml` and `.yml`, `.sh`, `.ini`, `.cfg` and `.conf`, and `.xml` are what they say. Upper and lower
    /// case are one.
    public init(fileName: String) {
        var name = fileName.split(separator: "/").last.map { $0.lowercased() } ?? ""
        for ending in [".tpl", ".tmpl"] where name.hasSuffix(ending) {
            name.removeLast(ending.count)
            break
        }
        let ending = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last
        self =
            switch ending {
            case "env": .dotenv
            case "json": .json
            case "yaml", "yml": .yaml
            case "sh": .shell
            case "ini", "cfg", "conf": .ini
            case "xml": .xml
            default: name.hasPrefix(".env.") ? .dotenv : .raw
            }
    }

    /// The reader of a template's text.
    func syntax(_ bytes: UnsafeRawBufferPointer) -> any EscapingSyntax {
        switch self {
        case .raw: RawSyntax()
        case .dotenv: DotenvSyntax(bytes)
        case .json: JSONSyntax(bytes)
        case .yaml: YAMLSyntax(bytes)
        case .shell: ShellSyntax(bytes)
        case .ini: INISyntax(bytes)
        case .xml: XMLSyntax(bytes)
        }
    }
}
