import Synchronization
import System
import Testing

@testable import OpenPGP

@Suite struct ProtectedMemoryTests {
    @Test func pagesAreOutOfDumpsAndForks() throws {
        let bytes = try secret("x")
        let address = bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let flags = try #require(MemoryMap.mappings().first { $0.range.contains(address) }).flags
        #expect(flags.contains("dd"))
        #expect(flags.contains("wf"))
    }

    @Test func gcryptsSecureMemoryIsOutOfDumps() throws {
        try #require(Gcrypt.isReady)
        let key = try SecureBytes(count: 32)
        let address = UInt(bitPattern: key.base)
        let flags = try #require(MemoryMap.mappings().first { $0.range.contains(address) }).flags
        #expect(flags.contains("dd"))
        let expression = try SymbolicExpression("(data (value %b))", [key.bytes])
        #expect(expression.isSecure, "what is made of it stays in it")
    }

    /// However many encrypt at the same time, libgcrypt takes no second pool, which a core dump would have.
    @Test func gcryptTakesNoPoolBesideItsFirst() throws {
        try #require(Gcrypt.isReady)
        func pools() throws -> Int {
            try MemoryMap.mappings().count { $0.flags.contains("lo") && !$0.flags.contains("dd") }
        }
        let before = try pools()
        let keys = try Keys.shared.get()
        let engine = try keys.home.engine
        let recipients = try engine.resolve("ann@example.org") + engine.resolve("bob@example.org")
        let ended = try Wakeups()
        let failures = Mutex<[String]>([])
        for _ in 0..<32 {
            try PosixThread.start(named: "test") {
                for _ in 0..<8 {
                    do {
                        _ = try engine.encrypt(secret("x"), to: recipients)
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
                ended.add()
            }
        }
        #expect(ended.wait(for: 32, seconds: 60))
        #expect(failures.withLock { $0 } == [])
        #expect(try pools() == before)
        // What does not fit is an error, not a pool that could be dumped.
        #expect(throws: OpenPGPError.self) { _ = try SecureBytes(count: 2 << 20) }
        #expect(try pools() == before)
    }
}
