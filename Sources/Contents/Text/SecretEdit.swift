import System
import SystemPackage

/// Changes of a secret: the text as it was but for one place.
public enum SecretEdit {
    /// The secret with another first line, and all else as it is.
    ///
    /// An empty secret becomes the line and a line break, as `pass` writes it. In the old form of gopass it is the header
    /// `Password` that changes.
    /// - Throws: `.invalid` when the new line holds a line break or a NUL.
    public static func replacingFirstLine(
        of bytes: UnsafeRawBufferPointer, with line: UnsafeRawBufferPointer
    ) throws(ContentsError) -> SecretBytes {
        guard !line.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") || $0 == 0 })
        else {
            throw ContentsError(.invalid, "a first line cannot hold a line break or a NUL")
        }
        let text = SecretText(bytes)
        var output = SecretOutput()
        try output.append(bytes.part(0..<text.firstLine.lowerBound))
        if case .headed(_, hasPassword: false) = text.form {
            // The line of the form itself may be all that there is, without a line break.
            if bytes.last != UInt8(ascii: "\n"), text.firstLine.lowerBound == bytes.count {
                try output.append(lineBreak(bytes))
            }
            try output.append("Password: ")
            try output.append(line)
            try output.append(lineBreak(bytes))
        } else {
            if case .headed = text.form, bytes[text.firstLine.lowerBound - 1] == UInt8(ascii: ":") {
                try output.append(" ")
            }
            try output.append(line)
            if bytes.isEmpty { try output.append("\n") }
        }
        try output.append(bytes.part(text.firstLine.upperBound..<bytes.count))
        return output.finish()
    }

    /// The secret with another counter in its otpauth URI, as HOTP wants it after each code (RFC 4226, 7.2).
    /// - Throws: `.missing` when the secret has no otpauth URI; `.invalid` when that is not a right one, or counts no codes.
    public static func settingCounter(
        of bytes: UnsafeRawBufferPointer, to counter: UInt64
    ) throws(ContentsError) -> SecretBytes {
        guard let place = SecretText(bytes).oneTimeURI else { throw OneTimeURI.isMissing }
        let uri = try OneTimeURI(bytes, place)
        guard uri.kind == .counter, let digits = uri.value(of: "counter") else {
            throw ContentsError(.invalid, "the otpauth URI counts no codes: it is not of the kind hotp")
        }
        var output = SecretOutput()
        try output.append(bytes.part(0..<digits.lowerBound))
        try output.append("\(counter)")
        try output.append(bytes.part(digits.upperBound..<bytes.count))
        return output.finish()
    }

    /// The secret with another otpauth URI in the place of the one that it has; where it has none, with a line for it at the end,
    /// or, as a YAML document holds no such line, before that.
    /// - Throws: `.invalid` or `.unsupported` when no codes can be made of `uri`.
    public static func settingOneTimeURI(
        of bytes: UnsafeRawBufferPointer, to uri: UnsafeRawBufferPointer
    ) throws(ContentsError) -> SecretBytes {
        guard !uri.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
            throw ContentsError(.invalid, "an otpauth URI cannot hold a line break")
        }
        _ = try OneTimePassword(uri: uri)
        let text = SecretText(bytes)
        var output = SecretOutput()
        if let place = text.oneTimeURI {
            try output.append(bytes.part(0..<place.lowerBound))
            try output.append(uri)
            try output.append(bytes.part(place.upperBound..<bytes.count))
            return output.finish()
        }
        var place = bytes.count
        if case .yaml(let start) = text.form { place = start }
        try output.append(bytes.part(0..<place))
        if place > 0, bytes[place - 1] != UInt8(ascii: "\n") { try output.append(lineBreak(bytes)) }
        if case .headed = text.form, !hasBody(bytes) { try output.append(lineBreak(bytes)) }
        try output.append(uri)
        try output.append(lineBreak(bytes))
        try output.append(bytes.part(place..<bytes.count))
        return output.finish()
    }

    /// The line break that the text has after its first line.
    private static func lineBreak(_ bytes: UnsafeRawBufferPointer) -> StaticString {
        guard let feed = bytes.firstIndex(of: UInt8(ascii: "\n")), feed > 0,
            bytes[feed - 1] == UInt8(ascii: "\r")
        else {
            return "\n"
        }
        return "\r\n"
    }

    /// Whether headers have ended.
    private static func hasBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        TextLines(bytes).contains { $0.isEmpty }
    }
}
