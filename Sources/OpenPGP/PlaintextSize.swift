/// What the packets of a message tell of the size of its plaintext.
public struct PlaintextSize: Sendable, Equatable {
    /// Bytes of plaintext. For what gpg 2.2 writes from a pipe without compression, as for pass and gopass, it is
    /// never above the truth, and at most 4 below. For what `GnuPG` writes without starting gpg it is the truth.
    public let value: Int64
    /// The packets have gpg's own form and just one size fits. Other programs can write the same form around other
    /// content (a file name, compression), so that it stays a prediction for messages of unknown origin.
    public let isExact: Bool
}

/// How gpg cuts a packet of unknown length into parts when it reads from a pipe.
///
/// It collects 8 KiB (64 KiB in newer versions); a full buffer becomes one part, what is left at the end is cut
/// into the powers of two that make it up, down to 512, and the last 0 to 511 bytes get an ordinary length.
struct PartialLengths {
    let buffer: Int64

    /// The parts of a body of `length` bytes.
    func parts(_ length: Int64) -> [Int64] {
        var parts = [Int64](repeating: buffer, count: Int(length / buffer))
        var rest = length % buffer
        var power = buffer / 2
        while power >= 512 {
            if rest >= power {
                parts.append(power)
                rest -= power
            }
            power /= 2
        }
        return parts + [rest]
    }

    /// The size of the whole packet around a body of `length` bytes: tag, lengths and body.
    func packetSize(_ length: Int64) -> Int64 {
        let partial = length / buffer + Int64((length % buffer / 512).nonzeroBitCount)
        return 1 + partial + (length % 512 < 192 ? 1 : 2) + length
    }

    /// The bodies, in rising order, whose packet has the size `size`. Usually one; near multiples of 1024 two, for a
    /// longer body may need fewer lengths.
    func bodies(ofPacket size: Int64) -> [Int64] {
        guard size >= 2 else { return [] }
        // Every part but the last is 512 bytes at least, most fill the buffer.
        let most = 1 + size / buffer + 2 + 16
        return (max(0, size - most)..<size).filter { packetSize($0) == size }
    }
}
