public import Contents
import Glibc
import Mount
public import Settings
import Stores
import System
public import SystemPackage

/// The templates that the mount shows as files with their values, as commands add, list and remove them.
public struct TemplateRegistry {
    private let configuration: Configuration
    private let environment: [String: String]

    /// Those of a configuration.
    public init(_ configuration: Configuration, environment: [String: String]) {
        (self.configuration, self.environment) = (configuration, environment)
    }

    /// Registers a template, or another one under the same name. Its secrets are not looked for.
    /// - Returns: whether it has a reference to a secret.
    /// - Throws: one sentence where the name cannot be that of a file, or the file is no template.
    public func add(_ name: String, file: FilePath, for kind: Escaping?) throws(DaemonError) -> Bool {
        guard RegisteredTemplate.fileName(name) != nil else {
            throw DaemonError(
                message: "\(name.isEmpty ? "an empty word" : name) cannot be the name of a file")
        }
        let file = file.absolute
        let hasReference = try check(file)
        let section = TemplateSection(
            name: name, template: file.string, kind: kind?.rawValue, file: configuration.file)
        try DaemonError.wrapping { try configuration.setTemplate(section) }
        return hasReference
    }

    /// Registers a template no longer; its file stays, and so do links to the file with its values.
    /// - Returns: those links.
    /// - Throws: one sentence where there is none of this name.
    public func remove(_ name: String) throws(DaemonError) -> [FilePath] {
        let file = try? rendered(name)
        let isRemoved = try DaemonError.wrapping { try configuration.removeTemplate(named: name) }
        guard isRemoved else { throw Self.missing(name, among: configuration.templateSections.map(\.name)) }
        let links = (try? LinkPlacement(environment: environment).reports()) ?? []
        return links.filter { $0.target == file?.string && [.works, .leadsNowhere].contains($0.state) }
            .map { FilePath($0.path) }
    }

    /// All of them, with what became of each when it was opened last.
    public func reports() throws(DaemonError) -> [TemplateReport] {
        let templates = try DaemonError.wrapping { try RegisteredTemplate.all(configuration) }
        let mount = MountedPlace(environment)
        return templates.map { template in
            TemplateReport(
                name: template.name.string, file: template.file.string, kind: template.kind.rawValue,
                path: mount.rendered(template.name).string,
                error: mount.report?.mount.rendered?.first { $0.name == template.name.string }?.error)
        }
    }

    /// The file of the mount with the values of a template; nil where none has this name.
    func rendered(_ name: String) throws(DaemonError) -> FilePath? {
        let templates = try DaemonError.wrapping { try RegisteredTemplate.all(configuration) }
        return templates.first { $0.name.string == name }.map { MountedPlace(environment).rendered($0.name) }
    }

    private static func missing(_ name: String, among names: [String]) -> DaemonError {
        DaemonError(
            message: "there is no template \"\(name)\"" + Spelling.suggestion(for: name, among: names))
    }

    private func check(_ file: FilePath) throws(DaemonError) -> Bool {
        let mount = MountedPlace(environment).mountPoint
        let bytes: SecretBytes
        do throws(Errno) {
            let opened = try OwnedDescriptor.regular(file, notOn: mount.targetFacts()?.st_dev)
            bytes = try .all(of: opened.raw, atMost: Template.sizeLimit)
        } catch {
            let reason =
                switch error {
                case .improperLink: "it lies in the mount; keep a template in another folder"
                case .invalidArgument: "it is no regular file"
                case .fileTooLarge: "it is larger than \(Template.sizeLimit >> 20) MiB"
                default: "\(error)"
                }
            throw DaemonError(message: "cannot read \(file): \(reason)")
        }
        do throws(ContentsError) {
            return try bytes.withUnsafeBytes { (bytes) throws(ContentsError) in
                try !Template(bytes).references.isEmpty
            }
        } catch {
            throw DaemonError(message: "\(file): \(error)")
        }
    }
}

/// A template and the file with its values, for people and for `--json`.
public struct TemplateReport: Codable, Sendable, Equatable {
    /// What the file with the values is called.
    public var name: String
    /// The template, absolute.
    public var file: String
    /// The kind of file that values are escaped for.
    public var kind: String
    /// The file with the values, absolute.
    public var path: String
    /// Why it could not be made when it was opened last, as one sentence; absent when nothing is known to be wrong.
    public var error: String?
}

/// A rendered file that could not be made when it was opened last.
public struct RenderingReport: Codable, Sendable, Equatable {
    /// Its name.
    public var name: String
    /// Why, as one sentence, which names the reference.
    public var error: String
}
