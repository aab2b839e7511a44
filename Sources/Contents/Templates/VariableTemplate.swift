public import System
import SystemPackage

/// A variable for a program's environment, whose value may have references to secrets in it.
///
/// What becomes of it goes into the environment as it is: no shell and no other reader of such files sees the value, so nothing
/// of it is written in another way.
public struct VariableTemplate: Sendable {
    enum Piece: Sendable {
        /// A range of the text.
        case text(Range<Int>)
        case reference(TemplateReference)
    }

    /// The variable's name.
    public let name: String
    /// The line that it begins in, from 1; nil for one that is not from a file.
    public let line: Int?
    let pieces: [Piece]
    /// What stands between the references. It may be secret, too.
    let text: SecretBytes

    init(name: String, line: Int?, pieces: [Piece], text: SecretBytes) {
        (self.name, self.line, self.pieces, self.text) = (name, line, pieces, text)
    }

    /// Reads `NAME=REFERENCE`, as an argument has it.
    /// - Throws: `.invalid` for anything else, a value as such among it: other users see the arguments of a command.
    public init(argument: String) throws(ContentsError) {
        guard let sign = argument.firstIndex(of: "=") else {
            throw ContentsError(.invalid, "\"\(argument)\" is no NAME=REFERENCE")
        }
        let name = String(argument[..<sign])
        guard Self.isName(name.utf8) else {
            throw ContentsError(.invalid, "\"\(name)\" cannot be the name of a variable")
        }
        var value = SecretOutput()
        try value.append(String(argument[argument.index(after: sign)...]))
        let reference = try value.finish().withUnsafeBytes { (bytes) throws(ContentsError) in
            var reader = ReferenceReader(bytes)
            try reader.checkWhole(variable: name)
            let reference = try reader.next()
            return reference?.range == 0..<bytes.count ? reference : nil
        }
        guard let reference else {
            throw ContentsError(
                .invalid, "the value of \(name) is no reference, as passdir://STORE/PATH#first is one")
        }
        self.init(name: name, line: nil, pieces: [.reference(reference)], text: SecretOutput().finish())
    }

    /// The value: the text with a value for each reference, which is put in once and never looked at for references.
    /// - Throws: `.missing` when `resolve` throws, with its words; `.cannotHold` for a value with a NUL; both name the reference and
    ///   its line. `.system` without memory.
    public func value(
        resolve: (TemplateReference) throws -> SecretBytes
    ) throws(ContentsError) -> SecretBytes {
        var output = SecretOutput()
        for piece in pieces {
            switch piece {
            case .text(let range):
                try text.withUnsafeBytes { (bytes) throws(ContentsError) in
                    try output.append(bytes.part(range))
                }
            case .reference(let reference):
                let place = line == nil ? reference.text : reference.place
                let value = try Template.value(of: reference, at: place, resolve)
                guard value.withUnsafeBytes({ !$0.has("\0") }) else {
                    throw ContentsError(
                        .cannotHold, "the value of \(place) has a NUL, which no variable can hold")
                }
                try output.append(value)
            }
        }
        return output.finish()
    }

    /// The references in the value.
    public var references: [TemplateReference] {
        pieces.compactMap { piece in if case .reference(let reference) = piece { reference } else { nil } }
    }

    /// The reference that is all of the value, as it is written; nil where there is none, or more than it.
    public var reference: String? {
        guard pieces.count == 1, case .reference(let reference) = pieces[0] else { return nil }
        return reference.text
    }

    /// As a shell has them, and with dots and hyphens, which programs that take such names use.
    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, first.isLetter || first == UInt8(ascii: "_") else { return false }
        return bytes.allSatisfy { $0.isLetter || $0.isDigit || "_.-".utf8.contains($0) }
    }
}
