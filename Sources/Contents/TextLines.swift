/// The lines of a text, as ranges without the line feed and a carriage return before it. What ends with a line feed has no
/// empty line after it.
struct TextLines: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    /// Where the next line begins.
    private(set) var nextStart: Int

    /// From a place on, which is the beginning of a line.
    init(_ bytes: UnsafeRawBufferPointer, from start: Int = 0) {
        self.bytes = bytes
        nextStart = start
    }

    mutating func next() -> Range<Int>? {
        guard nextStart < bytes.count else { return nil }
        let start = nextStart
        var end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        nextStart = Swift.min(end + 1, bytes.count)
        if end > start, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return start..<end
    }
}
