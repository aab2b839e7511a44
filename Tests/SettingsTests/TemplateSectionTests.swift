import Settings
import SystemPackage
import Testing

/// `[template "NAME"]` in the configuration file.
@Suite struct TemplateSectionTests {
    @Test func templatesAreAddedReplacedAndRemoved() throws {
        let folder = Folder()
        try folder.write("# mine\n[commit]\n\tdelay = 2s\n")
        let configuration = try Configuration(file: folder.file)
        func set(_ name: String, _ template: String, _ kind: String? = nil) throws {
            try configuration.setTemplate(
                TemplateSection(name: name, template: template, kind: kind, file: folder.file))
        }
        try set(".env \"x\"", "/t/a.tpl", "dotenv")
        try set("b", "/t/b # c.tpl")
        try set(".env \"x\"", "/t/new.tpl")
        for known in [configuration, try Configuration(file: folder.file)] {
            #expect(known.templateSections.map(\.name) == [".env \"x\"", "b"])
            #expect(known.templateSections.map(\.template) == ["/t/new.tpl", "/t/b # c.tpl"])
            #expect(known.templateSections.allSatisfy { $0.kind == nil })
        }
        #expect(try configuration.removeTemplate(named: ".env \"x\""))
        #expect(try !configuration.removeTemplate(named: "none"))
        #expect(configuration.templateSections.map(\.name) == ["b"])
        #expect(try folder.text.hasPrefix("# mine\n[commit]\n\tdelay = 2s\n"))
    }

    @Test(arguments: ["[template \"a\"]\n\tfile = /x\n\tkind = ini\n", "\n\n[template]\n\tfile = /x\n"])
    func whatIsNoSettingOfATemplateIsNamed(_ text: String) throws {
        let folder = Folder()
        try folder.write(text)
        do {
            _ = try Configuration(file: folder.file)
            Issue.record("no error was thrown")
        } catch {
            #expect(error.code == .unknown && (error.line ?? 0) > 2, "\(error)")
        }
    }
}
