public import System
import SystemPackage

extension TemplateReference.Part {
    /// What of a secret's text is meant, in secret memory: for `.oneTimeCode` the otpauth URI that makes codes.
    /// - Parameters:
    ///   - name: STORE/PATH, for the sentence where there is no such part.
    ///   - tellsFields: whether that sentence may name the fields that there are. They are of the secret's text: whoever may not
    ///     read it must not see the sentence.
    /// - Throws: `.missing` where it is not there; `.system` without memory.
    public func source(
        in text: UnsafeRawBufferPointer, named name: String, tellsFields: Bool
    ) throws(ContentsError) -> SecretBytes {
        let secret = SecretText(text)
        let range: Range<Int>
        switch self {
        case .whole: range = 0..<text.count
        case .first:
            range = secret.firstLine
            guard !range.isEmpty else {
                throw ContentsError(.missing, "\(name) has no first line, or it is empty")
            }
        case .field(let key):
            guard let field = secret.field(named: key) else {
                throw ContentsError(
                    .missing,
                    "\(name) has no field \"\(key)\"" + (tellsFields ? "; it has\(Self.names(secret))" : "")
                )
            }
            range = field.value
        case .oneTimeCode:
            guard let uri = secret.oneTimeURI else {
                throw ContentsError(.missing, "\(name) has no otpauth URI: passdir otp add adds one")
            }
            range = uri
        }
        do throws(Errno) { return try SecretBytes(copying: text.part(range)) } catch {
            throw ContentsError(memory: error)
        }
    }

    /// Names are shown in the mount, too, and values are not.
    private static func names(_ text: SecretText) -> String {
        let names = text.fields.prefix(20).map(\.name).joined(separator: ", ")
        return names.isEmpty ? " no fields" : ": " + VisibleText.cut(names, atMost: 200)
    }
}
