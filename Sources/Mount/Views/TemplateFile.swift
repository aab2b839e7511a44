import Contents
import Glibc
import System
import SystemPackage

/// The text of a template, as its file was a moment ago.
struct TemplateFile: Sendable {
    let template: Template
    /// When the file was changed last.
    let modified: FileTime

    init(_ template: Template, modified: FileTime) { (self.template, self.modified) = (template, modified) }

    /// Reads it; may wait for its disk.
    ///
    /// What lies in the mount is no template: it would be read in the name of this process, whoever opens what is made of it.
    init(_ file: FilePath, mountPoint: FilePath?) throws(ValueError) {
        let bytes: SecretBytes
        do throws(Errno) {
            let opened = try OwnedDescriptor.regular(file, notOn: mountPoint?.facts()?.st_dev)
            modified = FileTime(try opened.facts().st_mtim)
            bytes = try .all(of: opened.raw, atMost: Template.sizeLimit)
        } catch {
            throw ValueError(.ioError, Self.sentence(error, file))
        }
        do throws(ContentsError) {
            template = try bytes.withUnsafeBytes { (bytes) throws(ContentsError) in try Template(bytes) }
        } catch {
            throw ValueError(.ioError, "\(file): \(error.message)")
        }
    }

    private static func sentence(_ error: Errno, _ file: FilePath) -> String {
        switch error {
        case .fileTooLarge: "\(file) is larger than \(Template.sizeLimit >> 20) MiB, too large for a template"
        case .improperLink: "the template \(file) lies in the mount: keep it in another folder"
        case .invalidArgument: "the template \(file) is no regular file"
        default: "the template \(file) cannot be read: \(error)"
        }
    }
}
