import Git
public import SystemPackage

/// A template that is registered in the configuration file, `[template "NAME"]`, as it stands there.
public struct TemplateSection: Sendable, Equatable {
    /// What the file with its values is called.
    public var name: String
    /// The template's file (`file`), as it was written.
    public var template: String
    /// The kind of file (`for`); nil where the ending of the name says it.
    public var kind: String?
    /// The configuration file.
    public var file: FilePath
    /// The line of the section's header, counted from 1; 0 for one that is in no file yet.
    public var line: Int

    /// A section of these parts.
    public init(name: String, template: String, kind: String?, file: FilePath, line: Int = 0) {
        (self.name, self.template, self.kind, self.file, self.line) = (name, template, kind, file, line)
    }

    static let section = "template"
    /// What a template can say.
    static let keys = ["file", "for"]

    /// Whether a line of the file is one of these sections'.
    static func holds(_ entry: ConfigFile.Entry) -> Bool {
        entry.section == section && entry.subsection != nil
    }

    static func objection(to entry: ConfigFile.Entry) -> String? {
        keys.contains(entry.key.lowercased())
            ? nil : "'\(entry.key)' is not a setting of a template: write file or for"
    }
}

extension Configuration {
    /// Registers a template, or has the one of this name say something else.
    /// - Throws: `.locked`, `.access`.
    public func setTemplate(_ template: TemplateSection) throws(SettingsError) {
        try edit { _ in
            var values = [ConfigFile.Value("file", template.template)]
            if let kind = template.kind { values.append(ConfigFile.Value("for", kind)) }
            return [.setValues(TemplateSection.section, subsection: template.name, values)]
        }
    }

    /// Registers a template no longer.
    /// - Returns: whether there was one of this name.
    /// - Throws: `.locked`, `.access`.
    public func removeTemplate(named name: String) throws(SettingsError) -> Bool {
        var isThere = false
        try edit { file in
            isThere = file.subsections(of: TemplateSection.section).contains(name)
            return isThere ? [.removeSection(TemplateSection.section, subsection: name)] : []
        }
        return isThere
    }
}
