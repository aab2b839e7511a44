/// The bytes of a part of a URI, with each `%XX` as the byte that it stands for (RFC 3986, 2.1).
struct PercentBytes {
    private let bytes: UnsafeRawBufferPointer
    private var index: Int
    private let end: Int

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        self.bytes = bytes
        (index, end) = (range.lowerBound, range.upperBound)
    }

    /// The next byte, nil at the end.
    /// - Throws: `.invalid` at a percent sign without two hexadecimal digits behind it.
    mutating func next() throws(ContentsError) -> UInt8? {
        guard index < end else { return nil }
        let byte = bytes[index]
        index += 1
        guard byte == UInt8(ascii: "%") else { return byte }
        guard index + 1 < end, let high = bytes[index].hexadecimalValue,
            let low = bytes[index + 1].hexadecimalValue
        else {
            throw ContentsError(.invalid, "a percent sign of the URI has no two hexadecimal digits behind it")
        }
        index += 2
        return high << 4 | low
    }

    /// Whether the part is a text, upper and lower case of ASCII being one. What cannot be decoded is no such text.
    func equals(_ text: StaticString) -> Bool {
        var copy = self
        for offset in 0..<text.utf8CodeUnitCount {
            guard let byte = try? copy.next(), byte.lowercased == text.utf8Start[offset].lowercased else {
                return false
            }
        }
        do throws(ContentsError) { return try copy.next() == nil } catch { return false }
    }
}
