/// Names as an index may hold them (verify_path in git's read-cache.c; libgit2 reads no index with others).
enum IndexName {
    /// Whether a name has no zero in it and is a path that stays in its folder and out of git's: no part is empty, `.`, `..`
    /// or `.git`, in small letters or large. The slash at the end of a folder in a sparse index is left to others.
    static func isPlain(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let first = name.first, first != slash else { return false }
        var isStart = true
        for place in name.indices {
            let byte = name[place]
            if byte == 0 { return false }
            if isStart, byte == dot || byte == slash, !isPlainPart(name[place...]) { return false }
            isStart = byte == slash
        }
        return true
    }

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")

    /// The part with which these bytes begin.
    private static func isPlainPart(_ rest: Slice<UnsafeRawBufferPointer>) -> Bool {
        let part = rest.prefix { $0 != slash }
        if part.count == 4 {
            // Large letters are small ones without this bit.
            return !zip(part, ".git".utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $1 != dot }
        }
        return !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
    }
}
