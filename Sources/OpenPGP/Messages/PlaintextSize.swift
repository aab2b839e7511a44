/// What the packets of a message tell of the size of its plaintext.
public struct PlaintextSize: Sendable, Equatable {
    /// Bytes of plaintext. For what gpg 2.2 writes from a pipe without compression, as for pass and gopass, it is
    /// never above the truth, and at most 4 below. For what `GnuPG` writes without starting gpg it is the truth.
    public let value: Int64
    /// The packets have gpg's own form and just one size fits. Other programs can write the same form around other
    /// content (a file name, compression), so that it stays a prediction for messages of unknown origin.
    public let isExact: Bool
    /// The writer knew the length beforehand, as gpg does when it reads a file; then it also writes the file's name into the
    /// message, whose bytes `value` has counted in.
    public let isOfAFile: Bool

    init(value: Int64, isExact: Bool, isOfAFile: Bool = false) {
        self.value = value
        self.isExact = isExact
        self.isOfAFile = isOfAFile
    }
}

/// How gpg cuts a packet of unknown length into parts when it reads from a pipe.
///
/// It collects 8 KiB (64 KiB in newer versions); a full buffer becomes one part, what is left at the end is cut
/// into the powers of two that make it up, down to 512, and the last 0 to 511 bytes get an ordinary length.
struct PartialLengths {
    /// The sizes of gpg's buffer.
    static let buffers: [Int64] = [8192, 65_536]

    let buffer: Int64

    /// The first parts of a body of `length` bytes.
    func parts(_ length: Int64, atMost limit: Int = .max) -> [Int64] {
        var parts = [Int64](repeating: buffer, count: Int(min(length / buffer, Int64(limit))))
        var rest = length % buffer
        var power = buffer / 2
        while power >= 512 {
            if rest >= power {
                parts.append(power)
                rest -= power
            }
            power /= 2
        }
        return Array((parts + [rest]).prefix(limit))
    }

    /// How many parts a body of `length` bytes has.
    func partCount(_ length: Int64) -> Int64 { partialCount(length) + 1 }

    private func partialCount(_ length: Int64) -> Int64 {
        length / buffer + Int64((length % buffer / 512).nonzeroBitCount)
    }

    /// The size of the whole packet around a body of `length` bytes: tag, lengths and body.
    func packetSize(_ length: Int64) -> Int64 {
        1 + partialCount(length) + (length % 512 < 192 ? 1 : 2) + length
    }

    /// The bodies, in rising order, whose packet has the size `size`. Usually one; near multiples of 1024 two, for a
    /// longer body may need fewer lengths.
    func bodies(ofPacket size: Int64) -> [Int64] {
        guard size >= 2 else { return [] }
        // Each full buffer has one octet of length; tag, the lengths of the end and rounding add a few.
        let near = size - size / (buffer + 1)
        return (max(0, near - 16)..<min(size, near + 3)).filter { packetSize($0) == size }
    }
}
