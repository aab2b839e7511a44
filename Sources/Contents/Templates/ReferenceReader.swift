import System

/// Finds the references of a template; `Template` says what they look like.
struct ReferenceReader {
    private let bytes: UnsafeRawBufferPointer
    /// Up to where the template was read, and the line there.
    private var (position, line) = (0, 1)

    private static let scheme: StaticString = "passdir://"

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The next reference, nil when there is none any more.
    mutating func next() throws(ContentsError) -> TemplateReference? {
        while let letter = bytes[position...].firstIndex(of: UInt8(ascii: "p")) {
            let start = letter + Self.scheme.utf8CodeUnitCount
            guard bytes.begins(letter..<bytes.count, with: Self.scheme) else {
                move(to: letter + 1)
                continue
            }
            move(to: letter)
            let isBraced = start < bytes.count && bytes[start] == UInt8(ascii: "{")
            // The end of another scheme's name is no scheme.
            if !isBraced, letter > 0, Self.isOfScheme(bytes[letter - 1]) {
                move(to: start)
                continue
            }
            let end = isBraced ? try closingBrace(from: start) : endOfURI(from: start)
            try isBraced ? checkBrace(letter..<end) : checkEnd(letter..<end)
            let reference = try reference(letter..<end, inside: isBraced ? start + 1..<end - 1 : start..<end)
            move(to: end)
            return reference
        }
        return nil
    }

    private mutating func move(to index: Int) {
        line += bytes[position..<index].count { $0 == UInt8(ascii: "\n") }
        position = index
    }

    private func closingBrace(from start: Int) throws(ContentsError) -> Int {
        let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "\n") }
        guard let end, bytes[end] == UInt8(ascii: "}") else {
            throw ContentsError(
                .invalid, "the reference passdir://{ in line \(line) has no closing brace in its line")
        }
        return end + 1
    }

    private func endOfURI(from start: Int) -> Int {
        bytes[start...].firstIndex { !Self.isOfReference($0) } ?? bytes.count
    }

    /// Looks at the value of a variable that is to be one reference and nothing else.
    /// - Throws: `.invalid` where a reference begins and ends before the value does.
    func checkWhole(variable name: String) throws(ContentsError) {
        let start = Self.scheme.utf8CodeUnitCount
        guard bytes.begins(0..<bytes.count, with: Self.scheme), start < bytes.count else { return }
        let isBraced = bytes[start] == UInt8(ascii: "{")
        let end = isBraced ? try closingBrace(from: start) : endOfURI(from: start)
        guard end < bytes.count else { return }
        let inside = bytes[start...].filter { !isBraced || !"{}".utf8.contains($0) }
        var sentence = "the reference in the value of \(name) ends before \(character(at: end))"
        if !inside.contains(where: "{}\n".utf8.contains) {
            sentence +=
                ": write passdir://{\(VisibleText.line(String(decoding: inside, as: UTF8.self)))}"
        }
        throw ContentsError(.invalid, sentence)
    }

    /// A mark behind a brace would be printed, and all of the secret before it.
    private func checkBrace(_ range: Range<Int>) throws(ContentsError) {
        guard range.upperBound < bytes.count, "#?".utf8.contains(bytes[range.upperBound]) else { return }
        let inside = String(decoding: bytes[range].dropLast(), as: UTF8.self)
        let mark = bytes[range.upperBound] == UInt8(ascii: "#") ? "#first" : "?otp"
        throw ContentsError(
            .invalid,
            "the reference \(inside)} in line \(line) ends before \(character(at: range.upperBound)): "
                + "what belongs to it stands inside the braces, as in \(inside)\(mark)}")
    }

    /// The name of a secret may hold what ends a reference, and the rest of it would be printed, with another secret's value.
    private func checkEnd(_ range: Range<Int>) throws(ContentsError) {
        guard !isEnd(range) else { return }
        let text = String(decoding: bytes[range], as: UTF8.self)
        let name = String(decoding: bytes[range].dropFirst(Self.scheme.utf8CodeUnitCount), as: UTF8.self)
        throw ContentsError(
            .invalid,
            "the reference \(text) in line \(line) ends before \(character(at: range.upperBound)): "
                + "write passdir://{\(name)} if it is to end there, and passdir://{…} around the whole name if it is not"
        )
    }

    private func isEnd(_ range: Range<Int>) -> Bool {
        guard range.upperBound < bytes.count else { return true }
        let mark = bytes[range.upperBound]
        if mark.isWhiteSpace { return true }
        guard "\"'`,;)]}><|&".utf8.contains(mark) else { return false }
        let rest = range.upperBound + 1..<bytes.count
        guard let next = bytes[rest].first, Self.isOfName(next) else { return true }
        return bytes.begins(rest, with: Self.scheme) || isClosing(mark, before: range)
    }

    /// Whether a quote is the one that is open in the line of a reference.
    private func isClosing(_ quote: UInt8, before range: Range<Int>) -> Bool {
        let line = bytes[..<range.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        var open: UInt8?
        for byte in bytes[line..<range.lowerBound] where "\"'".utf8.contains(byte) {
            if open == nil { open = byte } else if open == byte { open = nil }
        }
        return open == quote
    }

    /// How a sentence names a character that ends a reference.
    private func character(at index: Int) -> String {
        var (decoder, iterator) = (UTF8(), bytes[index...].makeIterator())
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
            return "a byte that is no UTF-8"
        }
        return "\"\(VisibleText.line(String(scalar)))\""
    }

    private func reference(
        _ range: Range<Int>, inside: Range<Int>
    ) throws(ContentsError) -> TemplateReference {
        let text = String(decoding: bytes[range], as: UTF8.self)
        func wrong(_ what: String) -> ContentsError {
            ContentsError(.invalid, "the reference \(text) in line \(line) \(what)")
        }
        let mark =
            bytes[inside].firstIndex { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "?") }
            ?? inside.upperBound
        guard let place = decoded(inside.lowerBound..<mark) else {
            throw wrong("has a percent sign that stands for no character, or is no UTF-8")
        }
        guard let slash = place.firstIndex(of: "/"), slash > place.startIndex,
            place.index(after: slash) < place.endIndex
        else { throw wrong("names no secret: it wants a store, a slash and a path") }
        guard !place.utf8.contains(0) else { throw wrong("holds a NUL") }
        // As for a place that is typed for a command.
        guard !place.split(separator: "/").contains("..") else {
            throw wrong("has \"..\" in it, which leads nowhere in a store")
        }
        let part: TemplateReference.Part
        if mark == inside.upperBound {
            part = .whole
        } else if bytes[mark] == UInt8(ascii: "?") {
            guard bytes.equals(mark + 1..<inside.upperBound, "otp") else {
                throw wrong("asks for something else than ?otp")
            }
            part = .oneTimeCode
        } else {
            guard let name = decoded(mark + 1..<inside.upperBound) else {
                throw wrong("has a percent sign that stands for no character, or is no UTF-8")
            }
            guard !name.isEmpty else { throw wrong("names no field") }
            part = name == "first" ? .first : .field(name)
        }
        let target = TemplateReference.Target(
            store: String(place[..<slash]), path: String(place[place.index(after: slash)...]), part: part)
        return TemplateReference(target: target, text: text, range: range, line: line)
    }

    private func decoded(_ range: Range<Int>) -> String? {
        var (source, result) = (PercentBytes(bytes, range), [UInt8]())
        do throws(ContentsError) {
            while let byte = try source.next() { result.append(byte) }
        } catch {
            return nil
        }
        return String(validating: result, as: UTF8.self)
    }

    /// RFC 3986, 3.1.
    private static func isOfScheme(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "+-.".utf8.contains(byte)
    }

    /// What shows that a name goes on behind a character that ends a reference.
    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte >= 0x80 || "_#?".utf8.contains(byte)
    }

    /// The characters of a URI's path, query and fragment (RFC 3986, 3.3 to 3.5) but for those that rather stand around it.
    private static func isOfReference(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~%!$*+=:@/?#".utf8.contains(byte)
    }
}
