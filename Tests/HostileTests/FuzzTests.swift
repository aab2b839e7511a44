import Glibc
import TestKit
import Testing

/// Reads what others can write, wounded in every way that a generator thinks of: nothing may crash, hang, or eat memory,
/// and what is read must be what was written.
///
/// `PASSDIR_SOAK` says how many inputs all targets get together; without it, a few thousand each. The seed is printed;
/// `PASSDIR_FUZZ_SEED` takes one, and `PASSDIR_FUZZ_INPUT=TARGET:NUMBER` reads that
/// input only, `PASSDIR_FUZZ_INPUT=TARGET` those of that target.
@Suite struct FuzzTests {
    private static let usual = 3000

    /// Holds:
    /// - Damaged messages, recipient lists, records, settings, journals and indexes are read or refused,
    ///   without a crash or a hang.
    @Test(arguments: FuzzTarget.all) func whatOthersWriteIsReadOrRefused(_ target: FuzzTarget) async throws {
        guard let inputs = try Self.inputs(target) else { return }
        let seed = Self.seed
        print("fuzz: \(inputs.count) inputs for \(target.name), seed \(seed)")
        let found = try await Self.onThread {
            try FuzzRun(target: target, seed: seed, inputs: inputs).findings()
        }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    private static let isSoak = getenv("PASSDIR_SOAK") != nil

    private static let seed: UInt64 = {
        if let given = getenv("PASSDIR_FUZZ_SEED"), let seed = UInt64(String(cString: given)) { return seed }
        return isSoak ? UInt64.random(in: 1...999_999_999) : 20_261_121
    }()

    /// Which inputs the target reads now; nil: none.
    private static func inputs(_ target: FuzzTarget) throws -> Range<Int>? {
        if let one = getenv("PASSDIR_FUZZ_INPUT") {
            let parts = String(cString: one).split(separator: ":")
            guard parts.first.map(String.init) == target.name else { return nil }
            if parts.count == 2, let number = Int(parts[1]) { return number..<number + 1 }
        }
        let shares = FuzzTarget.all.map(\.share).reduce(0, +)
        guard let soak = getenv("PASSDIR_SOAK").flatMap({ Int(String(cString: $0)) }) else {
            return 0..<usual * target.share / 100
        }
        // Rounded up, so that all together are not fewer than asked for.
        return 0..<(soak * target.share + shares - 1) / shares
    }

    /// A thread of its own, as large as those of the daemon; Swift's pool is not for what takes so long.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.start { continuation.resume(with: Result { try body() }) }
        }
    }
}
