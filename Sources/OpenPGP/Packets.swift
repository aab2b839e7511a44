import SystemPackage

/// What can be said of an encrypted message without decrypting it.
public enum Packets {
    /// Octets in a packet of tag 18 that are not the packet inside: version, CFB prefix of a 128 bit cipher, MDC.
    private static let overhead: Int64 = 1 + 18 + 22
    /// Octets in a literal packet's body before the data: mode, length of an empty file name, date.
    private static let literalOverhead: Int64 = 6

    /// Predicts the size of the plaintext from the headers of the packets.
    ///
    /// Exact for what `gpg -e` writes from a pipe without compression; wrong for a message that holds a file name or
    /// is compressed inside, which looks the same from outside. nil for everything of which nothing can be said:
    /// armour, authenticated encryption (tag 20), no integrity protection (tag 9), signed or damaged messages.
    /// - Parameters:
    ///   - fileSize: The size of the message in bytes.
    ///   - read: Gives at most so many bytes from an offset on; fewer at the end of the file only.
    public static func plaintextSize(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> PlaintextSize? {
        var reader = PacketReader(fileSize: fileSize, read: read)
        var offset: Int64 = 0
        while let packet = try reader.header(at: offset) {
            switch packet.tag {
            case 1, 3, 10: offset = packet.end
            case 18:
                guard packet.end == fileSize, packet.bodyLength >= overhead + 2 + literalOverhead else {
                    return nil
                }
                guard try reader.byte(at: packet.bodyStart) == 1 else { return nil }
                return size(inside: packet)
            default: return nil
            }
        }
        return nil
    }

    /// As `plaintextSize`, only the number.
    public static func predictPlaintextSize(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> Int64? {
        try plaintextSize(fileSize: fileSize, read: read)?.value
    }

    private static func size(inside packet: PacketHeader) -> PlaintextSize? {
        let inner = packet.bodyLength - overhead
        // The outer packet shows how the writer cuts; the inner one was cut by the same hand.
        let lengths = PartialLengths(buffer: (packet.parts.first ?? 0) > 8192 ? 65_536 : 8192)
        if lengths.parts(packet.bodyLength) == packet.parts {
            let sizes = lengths.bodies(ofPacket: inner).map { $0 - literalOverhead }.filter { $0 >= 0 }
            guard let smallest = sizes.first else { return nil }
            return PlaintextSize(value: smallest, isExact: sizes.count == 1 && lengths.buffer == 8192)
        }
        // A writer that knows the length beforehand says it in the literal packet too.
        let octets: Int64 = inner <= 1 + 1 + 191 ? 1 : inner <= 1 + 2 + 8383 ? 2 : 5
        let size = inner - 1 - octets - literalOverhead
        return size >= 0 ? PlaintextSize(value: size, isExact: false) : nil
    }

    /// The ids of the keys that a message is encrypted to (packets of tag 1, version 3), in the order of the
    /// message; 0 stands for a hidden one. Empty for what is no encrypted message, and for armour.
    public static func recipientKeyIDs(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> [UInt64] {
        var reader = PacketReader(fileSize: fileSize, read: read)
        var ids: [UInt64] = []
        var offset: Int64 = 0
        while let packet = try reader.header(at: offset), [1, 3, 10].contains(packet.tag) {
            if packet.tag == 1, packet.bodyLength >= 9, try reader.byte(at: packet.bodyStart) == 3,
                let id = try reader.number(at: packet.bodyStart + 1, octets: 8)
            {
                ids.append(UInt64(bitPattern: id))
            }
            offset = packet.end
        }
        return ids
    }

    /// As above, for a message in memory, which may be armoured.
    public static func recipientKeyIDs(in message: [UInt8]) -> [UInt64] {
        let binary = Armor.decode(message) ?? message
        return (try? recipientKeyIDs(fileSize: Int64(binary.count), read: reading(binary))) ?? []
    }

    /// As above, for a message in memory that is lent.
    public static func recipientKeyIDs(in message: UnsafeRawBufferPointer) -> [UInt64] {
        recipientKeyIDs(in: Array(message))
    }

    /// How many public keys a message in memory is encrypted to.
    public static func recipientCount(in message: [UInt8]) -> Int { recipientKeyIDs(in: message).count }

    /// Whether the packets are those of an encrypted message and the last one ends where the message ends.
    static func isWholeMessage(_ message: [UInt8]) -> Bool {
        var reader = PacketReader(fileSize: Int64(message.count), read: reading(message))
        var offset: Int64 = 0
        while let packet = try? reader.header(at: offset) {
            offset = packet.end
            if [18, 20].contains(packet.tag) {
                return offset == Int64(message.count) && !packet.isIndeterminate
            }
            guard [1, 3, 10].contains(packet.tag) else { return false }
        }
        return false
    }

    private static func reading(_ bytes: [UInt8]) -> (Int64, Int) throws(Errno) -> [UInt8] {
        { (offset, count) throws(Errno) in
            guard offset >= 0, offset < Int64(bytes.count) else { return [] }
            return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        }
    }
}
