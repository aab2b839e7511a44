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

    /// The characters of a URI's path, query and fragment (RFC 3986, 3.3 to 3.5) but for those that rather stand around it.
    private static func isOfReference(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~%!$*+=:@/?#".utf8.contains(byte)
    }
}
