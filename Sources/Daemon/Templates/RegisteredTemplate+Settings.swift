import Contents
import Mount
import Settings
import Stores
import SystemPackage

extension RegisteredTemplate {
    /// All that a configuration registers.
    /// - Throws: `.value` with file and line for what cannot be shown.
    static func all(_ configuration: Configuration) throws(SettingsError) -> [RegisteredTemplate] {
        try configuration.templateSections.map { section throws(SettingsError) in
            func wrong(_ what: String) -> SettingsError {
                SettingsError(code: .value, message: what, file: section.file, line: section.line)
            }
            guard let name = fileName(section.name) else {
                throw wrong("'\(section.name)' cannot be the name of a rendered file")
            }
            guard let file = SettingKind<FilePath>.path.parseText(section.template) else {
                throw wrong(
                    "the template \(section.name) needs a file: an absolute path, or one that starts with ~/")
            }
            guard let kind = section.kind.map({ Escaping(rawValue: $0) }) ?? kind(of: file, name) else {
                let kinds = Escaping.allCases.map(\.rawValue).joined(separator: ", ")
                throw wrong("template.\(section.name).for must be one of \(kinds)")
            }
            return RegisteredTemplate(name: name, file: file, kind: kind)
        }
    }

    /// A name that a file can have, and that one line shows; nil for any other.
    static func fileName(_ text: String) -> FilePath.Component? {
        guard let name = FilePath.Component(text), name.kind == .regular, name.string == text,
            name.byteCount <= 255,
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return nil }
        return name
    }

    /// What the ending of the template's name says, else that of the file with its values.
    private static func kind(of file: FilePath, _ name: FilePath.Component) -> Escaping? {
        let kind = Escaping(fileName: file.string)
        return kind == .raw ? Escaping(fileName: name.string) : kind
    }
}
