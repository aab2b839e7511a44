import Contents
import SystemPackage

/// What a file with values is made of.
enum RenderedSource: Sendable {
    case registered(RegisteredTemplate)
    case held(HeldFile)

    /// How values are written into it.
    var kind: Escaping {
        switch self {
        case .registered(let template): template.kind
        case .held: .raw
        }
    }

    /// The text; may wait for its disk.
    func template(mountPoint: FilePath?) throws(ValueError) -> TemplateFile {
        switch self {
        case .registered(let template): try TemplateFile(template.file, mountPoint: mountPoint)
        case .held(let file): TemplateFile(file.template, modified: file.made)
        }
    }
}
