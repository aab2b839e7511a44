/// Words that passphrases are made of, in a text of the program itself.
public struct WordList: Sendable {
    private let text: StaticString
    private let places: [Range<Int>]

    /// How many words there are.
    public var count: Int { places.count }

    /// Words of ASCII with white space between them.
    init(_ text: StaticString) {
        self.text = text
        let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        places = bytes.indices.split { bytes[$0].isWhiteSpace }.map { $0.startIndex..<$0.endIndex }
    }

    /// The bytes of a word.
    func word(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start + places[index].lowerBound, count: places[index].count)
    }
}
