/// The parts of an otpauth URI, as ranges of the bytes that it stands in.
///
/// The form is Google's "Key URI Format": `otpauth://totp/LABEL?secret=BASE32&…`, or `hotp` with `counter=N`. Names of
/// parameters are taken in upper and lower case; of a parameter that is there twice, the first counts. A label may be missing.
struct OneTimeURI {
    enum Kind { case time, counter }

    private static let scheme: StaticString = "otpauth://"

    static let isMissing = ContentsError(.missing, "the secret has no otpauth URI")

    let kind: Kind
    private let bytes: UnsafeRawBufferPointer
    private let query: Range<Int>

    /// - Throws: `.invalid` for what is no otpauth URI, `.unsupported` for one of another kind.
    init(_ bytes: UnsafeRawBufferPointer, _ place: Range<Int>) throws(ContentsError) {
        self.bytes = bytes
        let place = bytes.trimmed(place)
        guard Self.begins(bytes, place) else {
            throw ContentsError(.invalid, "an otpauth URI begins with otpauth://")
        }
        let rest =
            place.lowerBound
            + Self.scheme.utf8CodeUnitCount..<(bytes[place].firstIndex(of: UInt8(ascii: "#"))
            ?? place.upperBound)
        let mark = bytes[rest].firstIndex(of: UInt8(ascii: "?"))
        let name =
            bytes[rest].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.upperBound
        if bytes.equals(rest.lowerBound..<name, "totp", ignoringCase: true) {
            kind = .time
        } else if bytes.equals(rest.lowerBound..<name, "hotp", ignoringCase: true) {
            kind = .counter
        } else {
            throw ContentsError(.unsupported, "the otpauth URI is of another kind than totp and hotp")
        }
        query = mark.map { $0 + 1..<rest.upperBound } ?? rest.upperBound..<rest.upperBound
    }

    /// Whether a text begins as such a URI does.
    static func begins(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        bytes.begins(range, with: scheme, ignoringCase: true)
    }

    /// Where the value of a parameter is, as it is written; nil without the parameter.
    func value(of name: StaticString) -> Range<Int>? {
        var start = query.lowerBound
        while start < query.upperBound {
            let end = bytes[start..<query.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? query.upperBound
            let sign = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")) ?? end
            if bytes.equals(start..<sign, name, ignoringCase: true) { return min(sign + 1, end)..<end }
            start = end + 1
        }
        return nil
    }

    /// A parameter that is a number; nil without the parameter.
    func number(of name: StaticString) throws(ContentsError) -> UInt64? {
        guard let place = value(of: name) else { return nil }
        guard let number = bytes.number(place) else {
            throw ContentsError(.invalid, "the parameter \(name) of the otpauth URI is no number that fits")
        }
        return number
    }
}
