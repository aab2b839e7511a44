import Glibc

/// The way to cut a password into parts that takes the fewest guesses.
///
/// Of L parts with G1 to GL guesses it takes L!·G1·…·GL + 10000^(L-1): the parts may come in any order, and ways with fewer parts are
/// tried first. All numbers are decimal logarithms: the products are beyond a Double.
struct GuessPlan {
    /// The best way to a place with so many parts.
    private struct Way {
        /// Of the product of the parts.
        var product: Double
        var total: Double
        var endsWithCharacters: Bool
    }

    /// For each place, the best way there by the number of parts.
    private var ways: [[Int: Way]]
    private let length: Int
    private let factorials: [Double]

    /// The decimal logarithm of the guesses of the best way.
    var magnitude: Double { ways[length].values.map(\.total).min() ?? 0 }

    init(_ parts: [GuessablePart], length: Int) {
        self.length = length
        factorials = (0...length + 1).map { lgamma(Double($0) + 1) / log(10) }
        ways = Array(repeating: [:], count: length + 1)
        ways[0][0] = Way(product: 0, total: 0, endsWithCharacters: false)
        let byEnd = Dictionary(grouping: parts) { $0.range.upperBound }
        for end in 1...length {
            for part in byEnd[end] ?? [] { extend(from: part.range.lowerBound, to: end, by: floored(part)) }
            for start in 0..<end {
                extend(from: start, to: end, by: characters(start..<end), areCharacters: true)
            }
        }
    }

    /// A part of a password takes some guesses however common it is: somebody has to think of it among others.
    private func floored(_ part: GuessablePart) -> Double {
        guard part.range.count < length else { return part.magnitude }
        return max(part.magnitude, log10(part.range.count == 1 ? 10 : 50))
    }

    /// Characters that are tried one by one: ten guesses each, and a little more than for what is known.
    private func characters(_ range: Range<Int>) -> Double {
        max(Double(range.count), log10(range.count == 1 ? 11 : 51))
    }

    private mutating func extend(
        from start: Int, to end: Int, by magnitude: Double, areCharacters: Bool = false
    ) {
        for (count, way) in ways[start] {
            // Two runs of characters are one.
            if areCharacters, way.endsWithCharacters { continue }
            let product = way.product + magnitude
            let parts = count + 1
            let total = Self.sum(factorials[parts] + product, 4 * Double(parts - 1))
            // A way with fewer parts that takes no more guesses is better all along.
            if ways[end].contains(where: { $0.key <= parts && $0.value.total <= total }) { continue }
            ways[end][parts] = Way(product: product, total: total, endsWithCharacters: areCharacters)
        }
    }

    /// The logarithm of the sum of two numbers.
    private static func sum(_ first: Double, _ second: Double) -> Double {
        let (less, more) = (min(first, second), max(first, second))
        return more + log10(1 + pow(10, less - more))
    }
}
