import Glibc
import SystemPackage
import TestKit
import Testing

@testable import Sync

/// Two and three machines at once, each with any deed: nothing that was acknowledged is lost, and nothing is stuck.
///
/// In the suite each deed meets a few others; `scripts/soak matrix COUNT` tries COUNT pairs and as many triples,
/// merged and rebased. `PASSDIR_MATRIX_SEED` repeats a run.
@Suite struct MatrixTests {
    private struct Chance: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            // SplitMix64, by Sebastiano Vigna.
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }

    /// As many combinations as asked for: all of them where there are no more.
    private static func combinations(_ machines: Int, _ count: Int?, _ chance: inout Chance) -> [[MatrixDeed]]
    {
        let deeds = MatrixDeed.all
        guard let count else {
            // Each deed once for each machine, beside others.
            let columns = (0..<machines).map { _ in deeds.shuffled(using: &chance) }
            return deeds.indices.map { row in columns.map { $0[row] } }
        }
        var whole = 1
        for _ in 0..<machines { whole *= deeds.count }
        let numbers = count >= whole ? Array((0..<whole).shuffled(using: &chance)) : []
        return (0..<min(count, whole)).map { place in
            var rest = numbers.isEmpty ? Int.random(in: 0..<whole, using: &chance) : numbers[place]
            return (0..<machines).map { _ in
                defer { rest /= deeds.count }
                return deeds[rest % deeds.count]
            }
        }
    }

    @Test(.slow, arguments: tableCases([2, 3], [false, true]))
    func nothingIsLostAndNothingIsStuck(_ machines: Int, rebases: Bool) async throws {
        let count = Self.number("PASSDIR_SOAK")
        // The suite tries the same each time.
        let seed = Self.number("PASSDIR_MATRIX_SEED") ?? (count == nil ? 11 : Int(time(nil)))
        var chance = Chance(state: UInt64(seed))
        let all = Self.combinations(machines, count, &chance)
        let size = 500
        let began = ContinuousClock.now
        var tried = 0
        while tried < all.count {
            // A home for some batches: a history that grows for ever is another test's.
            try await TestHome.with { home in
                var batch = try MatrixBatch(home, machines: machines, rebases: rebases)
                for turn in 0..<3 where tried < all.count {
                    let part = Array(all[tried..<min(tried + size, all.count)])
                    do {
                        try await batch.run(part, turn: turn)
                    } catch {
                        throw TestFailure("seed \(seed), batch at \(tried): \(error)")
                    }
                    tried += part.count
                }
                let complaints = batch.complaints
                #expect(complaints.isEmpty, "seed \(seed):\n\(complaints.joined(separator: "\n"))")
            }
        }
        if count != nil {
            print(
                "matrix: \(tried) of \(machines) machines, \(rebases ? "rebased" : "merged"), seed \(seed), in "
                    + "\((ContinuousClock.now - began).components.seconds) s")
        }
    }
}
