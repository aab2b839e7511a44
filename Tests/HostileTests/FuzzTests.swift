import Dispatch
import Glibc
import SystemPackage
import TestKit
import Testing

/// Reads what others can write, wounded in every way that a generator thinks of: nothing may crash, hang, or eat memory,
/// and what is read must be what was written.
///
/// `PASSDIR_SOAK` says how many inputs all targets get together, each target in a process of its own; without it, a few
/// thousand each. The seed is printed; `PASSDIR_FUZZ_SEED` takes one, and `PASSDIR_FUZZ_INPUT=TARGET:NUMBER` reads that
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
            if Soak.count != nil, getenv("PASSDIR_FUZZ_INPUT") == nil { return try Self.elsewhere(target) }
            return try FuzzRun(target: target, seed: seed, inputs: inputs, isAlone: Soak.count != nil)
                .findings()
        }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    /// Reads the inputs of one target in a new process of this program, as many at a time as there are processors: memory
    /// is counted by the process, and what one target takes must neither hide nor swell what another does.
    private static func elsewhere(_ target: FuzzTarget) throws -> [String] {
        processors.wait()
        defer { processors.signal() }
        var environment: [String: String] = [:]
        for variable in (SystemFile.text("/proc/self/environ") ?? "").split(separator: "\0") {
            let parts = variable.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
        }
        environment["PASSDIR_FUZZ_INPUT"] = target.name
        environment["PASSDIR_FUZZ_SEED"] = String(seed)
        guard let program = realpath("/proc/self/exe", nil) else { throw Errno(rawValue: errno) }
        defer { free(program) }
        let result = try Program(
            [String(cString: program), "--testing-library", "swift-testing", "--filter", "FuzzTests"],
            environment: environment, directory: "."
        ).wait(limit: .seconds(12 * 3600))
        let figures = result.output.split(separator: "\n").filter { $0.hasPrefix("fuzz: \(target.name) ") }
        for line in figures { print(line) }
        // A process that read nothing has none.
        if result.exitCode == 0, figures.count == 1 { return [] }
        return ["\(target.name) ends with \(result.exitCode)\n\(result.output)\n\(result.errors)"]
    }

    private static let processors = DispatchSemaphore(value: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private static let seed: UInt64 = {
        if let given = getenv("PASSDIR_FUZZ_SEED"), let seed = UInt64(String(cString: given)) { return seed }
        return Soak.count != nil ? UInt64.random(in: 1...999_999_999) : 20_261_121
    }()

    /// Which inputs the target reads now; nil: none.
    private static func inputs(_ target: FuzzTarget) throws -> Range<Int>? {
        if let one = getenv("PASSDIR_FUZZ_INPUT") {
            let parts = String(cString: one).split(separator: ":")
            guard parts.first.map(String.init) == target.name else { return nil }
            if parts.count == 2, let number = Int(parts[1]) { return number..<number + 1 }
        }
        let shares = FuzzTarget.all.map(\.share).reduce(0, +)
        guard let soak = Soak.count else {
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
