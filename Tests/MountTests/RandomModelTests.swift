import Glibc
import TestKit
import Testing

@testable import Mount

/// Random operations give what a plain tree in memory says, whatever came before them.
@Suite struct RandomModelTests {
    /// How many operations each run has: `scripts/soak mount-model COUNT` says another number, and takes one seed.
    private static let count = getenv("PASSDIR_SOAK").flatMap { Int(String(cString: $0)) }
    /// `$PASSDIR_MODEL_SEED` repeats a run.
    private static let seeds: [UInt64] =
        getenv("PASSDIR_MODEL_SEED").flatMap { UInt64(String(cString: $0)) }.map { [$0] }
        ?? (count == nil ? [1, 2, 3] : [UInt64.random(in: 4...99_999)])

    @Test(arguments: seeds)
    func operationsAreAsInTheModel(_ seed: UInt64) throws {
        var options = StoreFilesystem.Options(secretLimit: 1 << 20)
        // What is renamed away stays away for as long as the run lasts.
        options.grace = .seconds(3600)
        try TestMount.with(options) { mount in
            let stores = try ["one", "two"].map { try mount.add($0) }
            let start = ContinuousClock.now
            let model = try MountModel(mount, stores, seed: seed)
            try model.run(Self.count ?? 10_000) {
                say("seed \(seed), \($0) in \(ContinuousClock.now - start)")
            }
            for (name, (count, time)) in model.done.sorted(by: { $0.value.time > $1.value.time }) {
                say("\(time) for \(count) \(name)")
            }
        }
    }

    private func say(_ line: String) {
        guard Self.count != nil else { return }
        print("soak: \(line)")
        fflush(nil)
    }
}
