public import System
import SystemPackage

/// A text with references to secrets, which becomes a file that a program reads.
///
/// A reference is `passdir://STORE/PATH` for a whole secret, with `#first` for its first line, `#NAME` for a field and `?otp`
/// for a one-time code behind it. `%XX` stands for a byte. It ends at the first character that is none of a letter, a digit and
/// `-._~%!$*+=:@/?#`, and does not begin behind a letter, a digit or `+-.`. What ends it must be white space of ASCII or one of
/// `"'`, a backquote, `,;)]}><|&`, with no letter, digit, `_`, `#`, `?` or character beyond ASCII behind that, unless another reference
/// begins there or a quote closes that is open in its line: all of these may be in a name, which is not to be cut short unsaid.
///
/// Where that does not suit, there is `passdir://{STORE/PATH#NAME}`: it begins anywhere, ends at the brace, holds spaces and
/// all else, in one line, and percent signs mean the same. No `#` and no `?` stands right behind the brace.
public struct Template: Sendable {
    /// The longest file that is rendered, in bytes.
    public static let sizeLimit = 64 << 20

    /// The references, in the order of the text.
    public let references: [TemplateReference]
    private let text: SecretBytes

    /// Reads a template, and keeps a copy: it may hold secrets of its own.
    /// - Throws: `.invalid` for a reference that names nothing, with its line; `.system` without memory.
    public init(_ bytes: UnsafeRawBufferPointer) throws(ContentsError) {
        var (reader, found) = (ReferenceReader(bytes), [TemplateReference]())
        while let reference = try reader.next() { found.append(reference) }
        references = found
        do throws(Errno) { text = try SecretBytes(copying: bytes) } catch {
            throw ContentsError(memory: error)
        }
    }

    /// The file: the text with a value for each reference.
    ///
    /// A value is put in once and never looked at for references. Every target is resolved once, however often it stands there.
    /// References in comments, where the kind of file has such, stay as they are and are not resolved.
    /// - Parameters:
    ///   - kind: how values are written, so that who reads the file gets them as they are.
    ///   - resolve: gives the value of a reference, as it is in the secret.
    /// - Throws: `.missing` when `resolve` throws, with its words; `.cannotHold` for a value that cannot be written at its place;
    ///   both name the reference and its line. `.system` without memory.
    public func render(
        for kind: Escaping, resolve: (TemplateReference) throws -> SecretBytes
    ) throws(ContentsError) -> SecretBytes {
        try text.withUnsafeBytes { (bytes) throws(ContentsError) -> SecretBytes in
            var (syntax, position) = (kind.syntax(bytes), 0)
            var known: [TemplateReference.Target: SecretBytes] = [:]
            var output = SecretOutput()
            for reference in references {
                syntax.pass(position..<reference.range.lowerBound)
                try output.append(bytes.part(position..<reference.range.lowerBound))
                position = reference.range.lowerBound
                if syntax.isInComment { continue }
                if known[reference.target] == nil {
                    known[reference.target] = try Self.value(of: reference, at: reference.place, resolve)
                }
                do throws(ContentsError) {
                    try known[reference.target]?.withUnsafeBytes { (value) throws(ContentsError) in
                        try syntax.put(value, for: reference.range, to: &output)
                    }
                } catch {
                    guard error.code == .cannotHold else { throw error }
                    throw ContentsError(.cannotHold, "the value of \(reference.place) \(error.message)")
                }
                guard output.count <= Self.sizeLimit else {
                    throw ContentsError(
                        .cannotHold, "the file becomes larger than \(Self.sizeLimit >> 20) MiB")
                }
                position = reference.range.upperBound
            }
            try output.append(bytes.part(position..<bytes.count))
            return output.finish()
        }
    }

    /// The references that `render` resolves: all but those in comments.
    /// - Parameter kind: as for `render`.
    public func resolved(for kind: Escaping) -> [TemplateReference] {
        text.withUnsafeBytes { bytes in
            var (syntax, position, found) = (kind.syntax(bytes), 0, [TemplateReference]())
            for reference in references {
                syntax.pass(position..<reference.range.lowerBound)
                position = reference.range.lowerBound
                if syntax.isInComment { continue }
                syntax.passValue(for: reference.range)
                position = reference.range.upperBound
                found.append(reference)
            }
            return found
        }
    }

    /// - Parameter place: how a sentence names the reference.
    static func value(
        of reference: TemplateReference, at place: String,
        _ resolve: (TemplateReference) throws -> SecretBytes
    ) throws(ContentsError) -> SecretBytes {
        do {
            return try resolve(reference)
        } catch {
            let sentence = (error as? any SentenceError)?.message ?? "\(error)"
            throw ContentsError(.missing, "there is no value for \(place): \(sentence)")
        }
    }
}
