/// How long git's matcher may take for the patterns of a rule file.
///
/// For each `*` it tries every place in a name, and again for every place of the next one: about C(n, k) steps for k of
/// them and a name of n bytes. Whoever pushes writes both, so a line of fifty bytes could keep a committer busy for ever.
enum PatternCost {
    /// About a second for one name.
    private static let bound = 100_000_000

    /// C(255, k): the steps for the longest name a file can have.
    private static let steps = [1, 255, 32_385, 2_731_135]

    /// Whether all lines together can be matched against any name in about a second.
    static func isBounded(_ text: UnsafeRawBufferPointer) -> Bool {
        var total = 0
        for line in text.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
            var runs = 0
            var previous: UInt8 = 0
            for byte in line {
                if byte == UInt8(ascii: "*"), previous != byte { runs += 1 }
                previous = byte
            }
            guard runs < steps.count else { return false }
            total += steps[runs]
            guard total <= bound else { return false }
        }
        return true
    }
}
