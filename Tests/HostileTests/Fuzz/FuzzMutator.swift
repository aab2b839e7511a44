/// Makes hostile inputs out of good ones.
struct FuzzMutator {
    /// Good inputs of the format.
    let corpus: [[UInt8]]
    /// Words that mean something in the format.
    let tokens: [[UInt8]]
    /// Longer inputs are cut.
    let most: Int

    /// Numbers at the edges of what fields of 1, 2, 4 and 8 octets hold.
    private static let boundaries: [UInt64] = [
        0, 1, 2, 0x7f, 0x80, 0xbf, 0xc0, 0xdf, 0xe0, 0xfe, 0xff, 0x100, 0x1ff, 0x200, 0xfff, 0x7fff, 0x8000,
        0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff, 0x1_0000_0000,
        0x7fff_ffff_ffff_ffff, 0x8000_0000_0000_0000, 0xffff_ffff_ffff_ffff,
    ]
    private static let numbers = [
        "0", "-1", "1", "255", "65536", "2147483647", "2147483648", "-2147483648", "4294967296",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999999", "1e999", "0x7f", "+1", "00000000000000000001",
    ].map { Array($0.utf8) }

    /// One input; now and then a good one, most often one with a few wounds.
    func input(_ random: inout FuzzRandom) -> [UInt8] {
        var bytes = random.pick(corpus)
        if random.once(in: 64) { return bytes }
        var wounds = 1 + random.below(random.once(in: 8) ? 24 : 4)
        while wounds > 0 {
            wound(&bytes, &random)
            if bytes.count > most { bytes.removeLast(bytes.count - most) }
            wounds -= 1
        }
        return bytes
    }

    private func wound(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
        guard !bytes.isEmpty else {
            bytes = random.bytes(random.below(16)) + random.pick(tokens)
            return
        }
        let place = random.below(bytes.count)
        let run = place..<min(bytes.count, place + 1 + random.below(random.once(in: 4) ? bytes.count : 8))
        switch random.below(14) {
        case 0, 1: bytes[place] ^= 1 << UInt8(random.below(8))
        case 2: bytes[place] = UInt8(truncatingIfNeeded: random.pick(Self.boundaries))
        case 3: bytes.replaceSubrange(run, with: random.bytes(min(run.count, 64)))
        case 4: bytes.removeSubrange(run)
        case 5: bytes.removeLast(bytes.count - place)
        case 6: writeNumber(&bytes, at: place, &random)
        case 7: replaceDigits(&bytes, at: place, &random)
        case 8, 9: bytes.insert(contentsOf: random.pick(tokens), at: place)
        case 10: bytes.replaceSubrange(run, with: random.pick(tokens))
        case 11: swapRuns(&bytes, run, &random)
        case 12: `repeat`(&bytes, run, &random)
        default:
            // The front of this one, the end of another one.
            let other = random.pick(corpus)
            bytes.removeLast(bytes.count - place)
            bytes += other[random.below(other.count + 1)...]
        }
    }

    /// A field of 1 to 8 octets becomes a number at an edge, or one near its own length.
    private func writeNumber(_ bytes: inout [UInt8], at place: Int, _ random: inout FuzzRandom) {
        let octets = min(1 << random.below(4), bytes.count - place)
        let value =
            random.once(in: 4)
            ? UInt64(bytes.count - place) &+ UInt64(random.below(9)) &- 4 : random.pick(Self.boundaries)
        let isLittle = random.once(in: 8)
        for index in 0..<octets {
            let shift = UInt64(8 * (isLittle ? index : octets - 1 - index))
            bytes[place + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }

    /// The first decimal number behind a place becomes one at an edge.
    private func replaceDigits(_ bytes: inout [UInt8], at place: Int, _ random: inout FuzzRandom) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let start = bytes[place...].firstIndex(where: { digits ~= $0 }) else { return }
        let end = bytes[start...].firstIndex { !(digits ~= $0) } ?? bytes.count
        bytes.replaceSubrange(start..<end, with: random.pick(Self.numbers))
    }

    private func swapRuns(_ bytes: inout [UInt8], _ run: Range<Int>, _ random: inout FuzzRandom) {
        let start = random.below(bytes.count)
        let other = start..<min(bytes.count, start + run.count)
        guard !run.overlaps(other) else { return }
        let (first, second) = run.lowerBound < other.lowerBound ? (run, other) : (other, run)
        let (front, back) = (Array(bytes[first]), Array(bytes[second]))
        bytes.replaceSubrange(second, with: front)
        bytes.replaceSubrange(first, with: back)
    }

    /// A few bytes many times, or many a few times.
    private func `repeat`(_ bytes: inout [UInt8], _ run: Range<Int>, _ random: inout FuzzRandom) {
        let piece = Array(bytes[run].prefix(random.once(in: 2) ? 4 : run.count))
        let room = max(1, min(most, random.once(in: 32) ? most : 512) / piece.count)
        let times = 1 + random.below(room)
        var copies: [UInt8] = []
        copies.reserveCapacity(piece.count * times)
        for _ in 0..<times { copies += piece }
        bytes.insert(contentsOf: copies, at: run.upperBound)
    }
}
