/// Follows the text of a template in YAML as far as it says where a value stands. This is no parser: of a text that no
/// parser takes it makes something.
struct YAMLScanner {
    enum State: Equatable {
        /// Where a value can begin.
        case between
        /// In a plain scalar, or behind a quoted one.
        case scalar
        /// In a tag or an anchor.
        case property
        case comment
        /// In single quotes; with `isDoubled` at the second of two quotes that stand for one.
        case single(isDoubled: Bool)
        case double(isEscaped: Bool)
        case block(isLiteral: Bool)
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var state = State.between
    /// Where the line begins.
    private(set) var lineStart = 0
    /// Up to where a line is read already.
    private var readEnd = 0
    /// How many flow collections are open.
    private var depth = 0
    /// Lines that are indented further than this column belong to the scalar before: where it is a block, of this kind.
    private var column: Int?
    private var blockIsLiteral: Bool?

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        beginLine(0)
    }

    mutating func pass(_ range: Range<Int>) {
        for index in range {
            if index >= readEnd { take(bytes[index], at: index) }
            if bytes[index] == UInt8(ascii: "\n") { beginLine(index + 1) }
        }
    }

    /// Whether a reference is all of a value: nothing but a comment follows in its line, or what ends a value in a flow collection.
    func isWhole(_ reference: Range<Int>) -> Bool {
        let end = bytes[reference.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        let rest = bytes.trimmed(reference.upperBound..<end)
        guard let next = bytes[rest].first else { return true }
        if next == UInt8(ascii: "#") { return rest.lowerBound > reference.upperBound }
        return depth > 0 && ",]}".utf8.contains(next)
    }

    /// Whether a line ends at a place.
    func isLineEnd(_ index: Int) -> Bool {
        bytes[index...].first { $0 != UInt8(ascii: "\r") }.map { $0 == UInt8(ascii: "\n") } ?? true
    }

    /// A value has ended here.
    mutating func endValue() { state = .scalar }

    private mutating func take(_ byte: UInt8, at index: Int) {
        switch state {
        case .block: break
        case .comment: if byte == UInt8(ascii: "\n") { state = .between }
        case .single(isDoubled: true): state = .single(isDoubled: false)
        case .single:
            guard byte == UInt8(ascii: "'") else { break }
            state = following(index) == byte ? .single(isDoubled: true) : .scalar
        case .double(let isEscaped):
            let isEnd = byte == UInt8(ascii: "\"") && !isEscaped
            state = isEnd ? .scalar : .double(isEscaped: !isEscaped && byte == UInt8(ascii: "\\"))
        case .property: if byte.isWhiteSpace { state = .between }
        case .scalar, .between: takePlain(byte, at: index)
        }
        // A tag may end with its line.
        if byte == UInt8(ascii: "\n"), state == .property { state = .between }
    }

    private mutating func takePlain(_ byte: UInt8, at index: Int) {
        switch byte {
        case UInt8(ascii: "\n"):
            if state == .scalar, depth == 0, column == nil { column = parentColumn(before: index) }
        case _ where byte.isWhiteSpace: break
        case UInt8(ascii: "#") where index == lineStart || bytes[index - 1].isWhiteSpace:
            state = .comment
        case UInt8(ascii: ":") where isEndOfKey(index): state = .between
        case UInt8(ascii: ",") where depth > 0: state = .between
        case UInt8(ascii: "]") where depth > 0, UInt8(ascii: "}") where depth > 0:
            depth -= 1
            state = .scalar
        default: if state == .between { takeFirst(byte, at: index) }
        }
    }

    /// The first character of a value.
    private mutating func takeFirst(_ byte: UInt8, at index: Int) {
        switch byte {
        case UInt8(ascii: "-") where following(index).isWhiteSpace: break
        case UInt8(ascii: "?") where following(index).isWhiteSpace: break
        case UInt8(ascii: "'"): state = .single(isDoubled: false)
        case UInt8(ascii: "\""): state = .double(isEscaped: false)
        case UInt8(ascii: "!"), UInt8(ascii: "&"): state = .property
        case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "|") where depth == 0, UInt8(ascii: ">") where depth == 0:
            blockIsLiteral = byte == UInt8(ascii: "|")
            column = parentColumn(before: index)
            state = .scalar
        default: state = .scalar
        }
    }

    private func following(_ index: Int) -> UInt8 {
        index + 1 < bytes.count ? bytes[index + 1] : UInt8(ascii: "\n")
    }

    private func isEndOfKey(_ index: Int) -> Bool {
        if following(index).isWhiteSpace { return true }
        guard depth > 0 else { return false }
        // As in JSON, a value may follow at once on the colon behind a quoted key.
        return ",[]{}".utf8.contains(following(index)) || index > 0 && "\"'".utf8.contains(bytes[index - 1])
    }

    /// The column that all of the value stands behind which begins at a place: that of its key, else of the hyphen before it, else
    /// none, -1.
    private func parentColumn(before index: Int) -> Int {
        var (start, parent) = (lineStart, -1)
        while start < index {
            if bytes[start] == UInt8(ascii: " ") {
                start += 1
            } else if "-?".utf8.contains(bytes[start]), following(start).isWhiteSpace {
                parent = start - lineStart
                start += 1
            } else {
                let hasKey = (start..<index).contains {
                    bytes[$0] == UInt8(ascii: ":") && following($0).isWhiteSpace
                }
                return hasKey ? start - lineStart : parent
            }
        }
        return parent
    }
}

extension YAMLScanner {
    /// Finds out whether a line goes on with the scalar before it.
    fileprivate mutating func beginLine(_ start: Int) {
        lineStart = start
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        let text = bytes.trimmed(start..<end)
        if bytes.begins(start..<end, with: "---") || bytes.begins(start..<end, with: "...") {
            // The documents of a stream have nothing of each other.
            (state, depth, column, blockIsLiteral, readEnd) = (.between, 0, nil, nil, start + 3)
            return
        }
        // Quotes go on over lines.
        switch state {
        case .single, .double: return
        default: break
        }
        if let column, depth == 0 {
            // An empty line ends no scalar.
            if text.isEmpty || text.lowerBound - start > column {
                state = blockIsLiteral.map { .block(isLiteral: $0) } ?? .scalar
                return
            }
            (self.column, blockIsLiteral, state) = (nil, nil, .between)
        }
        if state == .scalar || state == .comment { state = .between }
    }
}
