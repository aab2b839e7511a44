/// Looking at text where it lies: a String of it would take a secret out of its memory.
extension UnsafeRawBufferPointer {
    /// A part, counted from its own beginning.
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }

    /// A range without the white space at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isWhiteSpace { start += 1 }
        while start < end, self[end - 1].isWhiteSpace { end -= 1 }
        return start..<end
    }

    /// Whether a text begins in a range at its start. Upper and lower case are one with `ignoringCase`, in ASCII only.
    func begins(_ range: Range<Int>, with text: StaticString, ignoringCase: Bool = false) -> Bool {
        guard range.count >= text.utf8CodeUnitCount else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { offset in
            let (ours, theirs) = (self[range.lowerBound + offset], text.utf8Start[offset])
            return ours == theirs || ignoringCase && ours.lowercased == theirs.lowercased
        }
    }

    /// Whether a text is all of a range.
    func equals(_ range: Range<Int>, _ text: StaticString, ignoringCase: Bool = false) -> Bool {
        range.count == text.utf8CodeUnitCount && begins(range, with: text, ignoringCase: ignoringCase)
    }

    /// A range as text, where it is UTF-8. Only for what is no secret: names.
    func name(_ range: Range<Int>) -> String? { String(validating: self[range], as: UTF8.self) }

    /// A number in decimal digits, and nothing else; nil where it is none or does not fit.
    func number(_ range: Range<Int>) -> UInt64? {
        guard !range.isEmpty else { return nil }
        var value: UInt64 = 0
        for byte in self[range] {
            guard byte.isDigit else { return nil }
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, stillTooLarge) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            guard !tooLarge, !stillTooLarge else { return nil }
            value = sum
        }
        return value
    }
}

extension UInt8 {
    /// Space, tab, line breaks, vertical tab and form feed, as of isspace(3) in the C locale.
    var isWhiteSpace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLowerCase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    var isUpperCase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    var isLetter: Bool { isLowerCase || isUpperCase }
    /// In ASCII; other bytes are as they are.
    var lowercased: UInt8 { isUpperCase ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
