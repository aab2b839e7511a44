import System
import TestKit
import Testing

/// What the process has mapped of its code.
@Suite struct CodePagesTests {
    private func kilobytes() throws -> Int {
        let status = try #require(SystemFile.text("/proc/self/status"))
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
    }

    /// Holds:
    /// - Code that is given back is mapped again where it runs, and all that was is not.
    @Test func codeIsGivenBackAndRunsAgain() throws {
        let before = try kilobytes()
        CodePages.letGo()
        let after = try kilobytes()
        #expect(after < before, "\(before) kB, then \(after)")
        #expect((1...100).map { "\($0)" }.joined().count == 192)
    }
}
