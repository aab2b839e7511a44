/// The syntax of a kind of file, as far as it says how a value is written where a reference stands.
///
/// It goes over the text of a template from its start to its end, never over a value: what is put in changes nothing of how the rest
/// is read.
protocol EscapingSyntax {
    /// Goes over text of the template itself.
    mutating func pass(_ range: Range<Int>)

    /// Whether what comes next is in a comment.
    var isInComment: Bool { get }

    /// Writes a value where a reference stands, which comes next.
    /// - Throws: `.cannotHold` with the end of a sentence, which begins with what value.
    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError)
}

extension EscapingSyntax {
    /// Goes past a reference whose value is not known yet. Where a value stands in the text does not depend on it; that it cannot
    /// stand there is an error of `put`.
    mutating func passValue(for reference: Range<Int>) {
        let value: StaticString = "x"
        var output = SecretOutput()
        do throws(ContentsError) {
            try put(
                UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount),
                for: reference,
                to: &output)
        } catch {}
    }
}

/// No syntax: values as they are.
struct RawSyntax: EscapingSyntax {
    let isInComment = false

    mutating func pass(_ range: Range<Int>) {}

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        try output.append(value)
    }
}

extension ContentsError {
    /// The end of a sentence that begins with the value.
    static func cannot(_ what: String) -> ContentsError { ContentsError(.cannotHold, what) }
}

extension UnsafeRawBufferPointer {
    /// Calls `body` with each character; no String is made of them.
    /// - Throws: `.cannotHold` where the bytes are no UTF-8.
    func forEachScalar(_ body: (Unicode.Scalar) throws(ContentsError) -> Void) throws(ContentsError) {
        var (decoder, iterator) = (UTF8(), makeIterator())
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue(let scalar): try body(scalar)
            case .emptyInput: return
            case .error: throw .cannot("is no UTF-8, which a file of this kind cannot hold")
            }
        }
    }

    /// - Throws: `.cannotHold` where the bytes are no UTF-8, or have a NUL or a carriage return, which readers of text lose.
    func checkText() throws(ContentsError) {
        try forEachScalar { (scalar) throws(ContentsError) in
            if scalar == "\0" { throw .cannot("has a NUL, which a file of this kind cannot hold") }
            if scalar == "\r" {
                throw .cannot("has a carriage return, which a file of this kind cannot hold")
            }
        }
    }

    /// Whether the text before a place ends in `\x`, `\u` or `\U` with fewer digits than belong to it: a value would go on with it.
    func hasOpenEscape(before end: Int) -> Bool {
        let digits = self[..<end].reversed().prefix { $0.hexadecimalValue != nil }.count
        let mark = end - digits - 1
        guard mark > 0 else { return false }
        let wanted: Int
        switch self[mark] {
        case UInt8(ascii: "x"): wanted = 2
        case UInt8(ascii: "u"): wanted = 4
        case UInt8(ascii: "U"): wanted = 8
        default: return false
        }
        let backslashes = self[..<mark].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        return digits < wanted && backslashes % 2 == 1
    }

    /// Whether there is such a character of ASCII.
    func has(_ character: Unicode.Scalar) -> Bool { contains(UInt8(ascii: character)) }
}

extension SecretOutput {
    mutating func append(_ scalar: Unicode.Scalar) throws(ContentsError) {
        for byte in UTF8.encode(scalar)! { try append(byte) }
    }

    /// So many hexadecimal digits of a number.
    mutating func append(hexadecimal number: UInt32, digits: Int) throws(ContentsError) {
        let letters: StaticString = "0123456789abcdef"
        for place in (0..<digits).reversed() {
            try append(letters.utf8Start[Int(number >> (4 * UInt32(place)) & 0xf)])
        }
    }
}
