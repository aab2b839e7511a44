/// A small generator of pseudo-random numbers (SplitMix64): the same numbers for the same seed, on every machine.
///
/// Each input has a generator of its own, so that one input can be repeated without those before it.
struct FuzzRandom: RandomNumberGenerator {
    private var state: UInt64

    /// The generator of one input of a target.
    init(seed: UInt64, target: String, input: Int) {
        state = seed
        for byte in target.utf8 { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        state ^= next() &+ UInt64(truncatingIfNeeded: input)
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, without it; 0 for a bound of 0.
    mutating func below(_ bound: Int) -> Int {
        bound > 0 ? Int(next().multipliedFullWidth(by: UInt64(bound)).high) : 0
    }

    /// True once in `times`.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next()) { bytes += $0 } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// One of a collection that isn't empty.
    mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element {
        choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }
}
