import Contents
import Glibc
import System
import SystemPackage

/// A file with references, as a command is given it. What it says of the file begins with its name.
struct TemplateInput {
    /// As it was typed; standard input is `-`.
    let name: String
    private let bytes: SecretBytes

    /// Reads it whole; it may be a pipe.
    init(_ name: String, orStandardInput: Bool) throws {
        let isStandardInput = orStandardInput && name == "-"
        self.name = isStandardInput ? "standard input" : name
        do throws(Errno) {
            guard !isStandardInput else {
                bytes = try .all(of: STDIN_FILENO, atMost: Template.sizeLimit)
                return
            }
            let file = try OwnedDescriptor(opening: FilePath(name), O_RDONLY)
            bytes = try .all(of: file.raw, atMost: Template.sizeLimit)
        } catch {
            throw CommandFailure(
                error == .fileTooLarge
                    ? "\(self.name) is larger than \(Template.sizeLimit >> 20) MiB, too large for a template"
                    : "cannot read \(self.name): \(error)")
        }
    }

    /// Reads the text, or makes something of it.
    func naming<Value>(_ body: (UnsafeRawBufferPointer) throws(ContentsError) -> Value) throws -> Value {
        do throws(ContentsError) {
            return try bytes.withUnsafeBytes(body)
        } catch {
            throw CommandFailure("\(name): \(error)")
        }
    }
}
