/// How early a word is guessed: the common passwords first, then the words of passphrases, any of which is as likely as another.
struct CommonWords: Sendable {
    static let shared = CommonWords()

    /// The longest word, in bytes.
    let longest: Int
    /// Open addressing: an index into both lists, from 1; 0 is free.
    private let slots: [Int32]
    private let lists: [WordList]

    private init() {
        lists = [.commonPasswords, .eff]
        var slots = [Int32](repeating: 0, count: 1 << 15)
        var longest = 0
        var index: Int32 = 0
        for list in lists {
            for word in (0..<list.count).map(list.word) {
                index += 1
                longest = max(longest, word.count)
                var slot = Int(word.reduce(into: WordHash()) { $0.add($1) }.value) & (slots.count - 1)
                while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
                slots[slot] = index
            }
        }
        (self.slots, self.longest) = (slots, longest)
    }

    /// The guesses for a word in lower case; nil for what is no word.
    func rank(of word: UnsafeRawBufferPointer, _ hash: WordHash) -> Double? {
        var slot = Int(hash.value) & (slots.count - 1)
        while slots[slot] != 0 {
            var (index, list) = (Int(slots[slot]) - 1, lists[0])
            let isCommon = index < list.count
            if !isCommon { (index, list) = (index - list.count, lists[1]) }
            // The common password comes first where both lists have a word.
            if list.word(index).elementsEqual(word) { return Double(isCommon ? index + 1 : list.count) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}

/// FNV-1a, of 32 bits; it grows with the word.
struct WordHash {
    private(set) var value: UInt32 = 0x811c_9dc5

    mutating func add(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }
}
