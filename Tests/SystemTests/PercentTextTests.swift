import System
import Testing

/// Bytes as a line of text, and back.
@Suite struct PercentTextTests {
    @Test func everyByteComesBack() {
        let bytes = Array(UInt8.min...UInt8.max)
        let line = PercentText.encoded(bytes)
        #expect(line.utf8.allSatisfy { (0x20..<0x7f).contains($0) })
        #expect(PercentText.decoded(line) == bytes)
        #expect(
            PercentText.encoded("a/b c".utf8) == "a/b c" && PercentText.encoded([0x25, 0x0a]) == "%25%0A")
        #expect(PercentText.decoded("100% %4 %zz%+1%41") == Array("100% %4 %zz%+1A".utf8))
    }
}
