import Glibc
import System
import SystemPackage
import Testing

@Suite struct SecretMemoryTests {
    @Test func bytesHoldWhatWasCopied() throws {
        #expect(try secret(Array("plain".utf8)).array == Array("plain".utf8))
        #expect(try secret([]).count == 0)
        #expect(try secret([]).array.isEmpty)
        let large = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try secret(large).array == large)
    }

    @Test func bufferGrowsShrinksAndFillsGapsWithZeros() throws {
        var buffer = SecretBuffer()
        #expect(buffer.count == 0)
        try [1, 2, 3].withUnsafeBytes { try buffer.write($0, at: 2) }
        var expected = [UInt8](repeating: 0, count: 2)
        expected += [Int](1...3).withUnsafeBytes { Array($0) }
        #expect(try buffer.snapshot().array == expected)
        try buffer.resize(to: 3)
        try buffer.resize(to: 10_000)
        #expect(buffer.count == 10_000)
        let grown = try buffer.snapshot().array
        #expect(Array(grown[..<3]) == Array(expected[..<3]))
        #expect(grown[3...].allSatisfy { $0 == 0 })
        buffer.clear()
        #expect(buffer.count == 0)
        #expect(try buffer.snapshot().count == 0)
        try buffer.resize(to: 5)
        #expect(try buffer.snapshot().array == [0, 0, 0, 0, 0])
    }

    @Test func contentSurvivesManyMovesOfThePages() throws {
        var buffer = SecretBuffer()
        let block = (0..<999).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for index in 0..<2000 { try block.withUnsafeBytes { try buffer.write($0, at: index * 999) } }
        #expect(buffer.count == 1_998_000)
        let all = buffer.freeze().array
        #expect((0..<2000).allSatisfy { Array(all[$0 * 999..<($0 + 1) * 999]) == block })
    }

    @Test func impossibleSizesAreErrors() throws {
        var buffer = SecretBuffer()
        try buffer.resize(to: 7)
        for size in [Int.max, Int.max - 5000, 1 << 50] {
            #expect(throws: Errno.noMemory) { try buffer.resize(to: size) }
        }
        #expect(throws: Errno.noMemory) { try [1].withUnsafeBytes { try buffer.write($0, at: Int.max - 2) } }
        #expect(throws: Errno.invalidArgument) { try buffer.resize(to: -1) }
        #expect(buffer.count == 7)
    }

    @Test func whatIsBeyondTheLockLimitIsCountedAndWorks() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(8), &limit)
        try #require(limit.rlim_cur < 1 << 30, "no limit on locked memory here")
        let before = SecretBytes.unlockedByteCount
        do {
            var buffer = SecretBuffer()
            try buffer.resize(to: Int(limit.rlim_cur) + 100_000)
            if geteuid() != 0 { #expect(SecretBytes.unlockedByteCount > before) }
        }
        #expect(SecretBytes.unlockedByteCount == before)
    }
}

extension SecretBytes {
    /// For comparing.
    fileprivate var array: [UInt8] { withUnsafeBytes { Array($0) } }
}

private func secret(_ bytes: [UInt8]) throws -> SecretBytes {
    try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
}
