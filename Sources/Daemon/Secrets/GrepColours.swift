import System
import SystemPackage

/// Tells the colours of grep from sequences in the text that it searched: a terminal gets the first, and sees the others.
struct GrepColours {
    private static let match = Array("\u{1B}[01;31m".utf8)
    private static let end = Array("\u{1B}[m".utf8)
    /// What grep writes before a match. Its digits mean nothing, and nobody could have known them.
    private let mark: [UInt8]
    /// For grep: the mark for matches, and nothing else.
    let variable: String

    init() throws(Errno) {
        var number: UInt64 = 0
        try withUnsafeMutableBytes(of: &number) { (bytes) throws(Errno) in try KernelRandom.fill(bytes) }
        variable = "mt=01;31;\(number):ne:fn=:ln=:bn=:se="
        mark = Array("\u{1B}[01;31;\(number)m".utf8)
    }

    /// What a terminal is given of what grep wrote.
    func shown(_ output: SecretBytes) throws(Errno) -> SecretBytes {
        try output.withUnsafeBytes { (bytes) throws(Errno) in
            var result = SecretBuffer()
            var (start, index, isInside) = (0, 0, false)
            while index < bytes.count {
                let sign = isInside ? Self.end : mark
                guard bytes[index] == sign[0], bytes[index...].starts(with: sign) else {
                    index += 1
                    continue
                }
                try Self.add(UnsafeRawBufferPointer(rebasing: bytes[start..<index]), to: &result)
                try (isInside ? Self.end : Self.match).withUnsafeBufferPointer { (sign) throws(Errno) in
                    try result.write(UnsafeRawBufferPointer(sign), at: result.count)
                }
                isInside.toggle()
                index += sign.count
                start = index
            }
            try Self.add(UnsafeRawBufferPointer(rebasing: bytes[start...]), to: &result)
            return result.freeze()
        }
    }

    private static func add(_ bytes: UnsafeRawBufferPointer, to result: inout SecretBuffer) throws(Errno) {
        try VisibleText.text(bytes).withUnsafeBytes { (shown) throws(Errno) in
            try result.write(shown, at: result.count)
        }
    }
}
