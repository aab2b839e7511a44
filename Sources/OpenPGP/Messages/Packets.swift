import SystemPackage

/// What can be said of an encrypted message without decrypting it.
public enum Packets {
    /// Octets in a packet of tag 18 that are not the packet inside: version, CFB prefix of a 128 bit cipher, MDC.
    private static let overhead: Int64 = 1 + 18 + 22
    /// Octets in a literal packet's body before the data: mode, length of an empty file name, date.
    private static let literalOverhead: Int64 = 6
    /// How many packets before the encrypted data, which are its recipients, a message may have.
    public static let maximalRecipients = 1024
    /// How many of them may be for a passphrase (tag 3): gpg asks for each.
    static let maximalPassphrases = 8
    /// How many windows of a file one look reads: what others wrote must not decide how long a look takes.
    static let maximalReads = 1024

    /// The longest armour that is decoded for a look: that of 1 MiB of plaintext, for some hundred recipients.
    private static let longestArmor: Int64 = 3 << 19

    /// Predicts the size of the plaintext from the headers of the packets.
    ///
    /// Exact for what `gpg -e` writes from a pipe without compression; wrong for a message that holds a file name or
    /// is compressed inside, which looks the same from outside. nil for everything of which nothing can be said:
    /// long armour, authenticated encryption (tag 20), no integrity protection (tag 9), signed or damaged messages, and
    /// those in more pieces than a look reads. Of a long message that gpg cut, only the beginning and the end are read.
    /// - Parameters:
    ///   - fileSize: The size of the message in bytes.
    ///   - read: Gives at most so many bytes from an offset on; fewer at the end of the file only.
    public static func plaintextSize(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> PlaintextSize? {
        var reader = PacketReader(fileSize: fileSize, maximalReads: maximalReads, read: read)
        if try reader.byte(at: 0) == UInt8(ascii: "-"), fileSize <= longestArmor {
            guard let binary = Armor.decode(try read(0, Int(fileSize))), binary.first != UInt8(ascii: "-")
            else {
                return nil
            }
            return try plaintextSize(fileSize: Int64(binary.count)) { (offset, count) throws(Errno) in
                Array(binary[Int(offset)..<min(binary.count, Int(offset) + count)])
            }
        }
        var offset: Int64 = 0
        for _ in 0...maximalRecipients {
            guard let packet = try reader.header(at: offset) else { return nil }
            switch packet.tag {
            case 1, 3, 10:
                guard packet.isWhole else { return nil }
                offset = packet.end
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
        if lengths.partCount(packet.bodyLength) == packet.partCount,
            lengths.parts(packet.bodyLength, atMost: PacketReader.partsKept) == packet.parts
        {
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
    /// message; 0 stands for a hidden one. Empty for what is no encrypted message, for armour, and for more than
    /// `maximalRecipients` packets.
    public static func recipientKeyIDs(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> [UInt64] {
        try head(fileSize: fileSize, read: read).keyIDs
    }

    /// What stands before the encrypted data of a message.
    public static func head(
        fileSize: Int64, read: @escaping (Int64, Int) throws(Errno) -> [UInt8]
    ) throws(Errno) -> Head {
        var reader = PacketReader(fileSize: fileSize, maximalReads: 2 * maximalReads, read: read)
        return try head(&reader)
    }

    private static func head(_ reader: inout PacketReader) throws(Errno) -> Head {
        var ids: [UInt64] = []
        var hasOwnPassphrase = false
        var offset: Int64 = 0
        for _ in 0...maximalRecipients {
            guard let packet = try reader.header(at: offset), packet.isWhole, [1, 3, 10].contains(packet.tag)
            else {
                return Head(keyIDs: ids, hasOwnPassphrase: hasOwnPassphrase)
            }
            if packet.tag == 3 { hasOwnPassphrase = true }
            if packet.tag == 1, packet.bodyLength >= 9, try reader.byte(at: packet.bodyStart) == 3,
                let id = try reader.number(at: packet.bodyStart + 1, octets: 8)
            {
                ids.append(id)
            }
            offset = packet.end
        }
        return Head(keyIDs: [], hasOwnPassphrase: hasOwnPassphrase)
    }

    /// As above, for a message in memory, which may be armoured.
    public static func recipientKeyIDs(in message: [UInt8]) -> [UInt64] {
        message.withUnsafeBytes { recipientKeyIDs(in: $0) }
    }

    /// As above, for a message in memory that is lent.
    public static func recipientKeyIDs(in message: UnsafeRawBufferPointer) -> [UInt64] {
        head(in: message).keyIDs
    }

    /// What stands before the encrypted data of a message in memory, which may be armoured.
    public static func head(in message: [UInt8]) -> Head { message.withUnsafeBytes { head(in: $0) } }

    private static func head(in message: UnsafeRawBufferPointer) -> Head {
        if let binary = Armor.decode(message) { return binary.withUnsafeBytes { headOfBinary($0) } }
        return headOfBinary(message)
    }

    private static func headOfBinary(_ message: UnsafeRawBufferPointer) -> Head {
        var reader = PacketReader(message)
        return (try? head(&reader)) ?? Head(keyIDs: [], hasOwnPassphrase: false)
    }

    /// What stands before the encrypted data of a message.
    public struct Head: Sendable {
        /// As `recipientKeyIDs`.
        public let keyIDs: [UInt64]
        /// Whether a passphrase decrypts it (packets of tag 3), beside keys or alone.
        public let hasOwnPassphrase: Bool
    }

    /// Looks at a message, armoured or not, before gpg does.
    /// - Throws: what `objection` says.
    static func head(of message: UnsafeRawBufferPointer) throws(OpenPGPError) -> Head {
        guard let binary = Armor.decode(message) else { return try binaryHead(of: message) }
        return try binary.withBytes { (bytes) throws(OpenPGPError) in try binaryHead(of: bytes) }
    }

    private static func binaryHead(of message: UnsafeRawBufferPointer) throws(OpenPGPError) -> Head {
        if let objection = objection(to: message) { throw objection }
        return headOfBinary(message)
    }

    /// Whether the packets are those of an encrypted message and the last one ends where the message ends.
    static func isWholeMessage(_ message: [UInt8]) -> Bool {
        message.withUnsafeBytes { bytes in
            var reader = PacketReader(bytes)
            var offset: Int64 = 0
            for _ in 0...maximalRecipients {
                guard let packet = try? reader.header(at: offset) else { return false }
                offset = packet.end
                if [18, 20].contains(packet.tag) {
                    return offset == Int64(bytes.count) && !packet.isIndeterminate
                }
                guard packet.isWhole, [1, 3, 10].contains(packet.tag) else { return false }
            }
            return false
        }
    }

    /// Checks in the packets of the result that it is whole and that everybody named, and nobody else, can read it.
    static func verify(_ message: [UInt8], isFor recipients: [Recipient]) throws(OpenPGPError) {
        guard isWholeMessage(message) else {
            throw OpenPGPError(.other, "the encrypted message is incomplete")
        }
        let ids = recipientKeyIDs(in: message)
        // "throw-keyids" in gpg.conf hides who is who; then only the number can be checked.
        let hidden = ids.count(where: { $0 == 0 })
        let missing = recipients.filter { recipient in !recipient.possibleKeyIDs.contains(where: ids.contains)
        }
        if hidden == 0, let first = missing.first {
            throw OpenPGPError(.other, "nothing was encrypted to \(first.key.title)", subject: first.named)
        }
        let distinct = Set(missing.map(\.specification)).count
        let expected = Set(recipients.flatMap(\.possibleKeyIDs))
        guard hidden >= distinct, ids.allSatisfy({ $0 == 0 || expected.contains($0) }),
            ids.count <= Set(recipients.map(\.specification)).count
        else { throw OpenPGPError(.other, "the message is not encrypted to exactly the named recipients") }
    }

    /// What makes a message malformed, whoever can decrypt it; nil when a look finds nothing. gpg would read it, one
    /// part at a time.
    static func objection(to message: UnsafeRawBufferPointer) -> OpenPGPError? {
        var reader = PacketReader(message, maximalReads: maximalReads)
        var offset: Int64 = 0
        var passphrases = 0
        for _ in 0...maximalRecipients {
            guard let packet = try? reader.header(at: offset) else {
                guard reader.hasSmallPart else { return nil }
                return OpenPGPError(
                    .corrupt,
                    "the message is malformed: it is split into parts of less than \(PacketReader.smallestPart) bytes "
                        + "(RFC 4880, 4.2.2.4)")
            }
            guard packet.isWhole, [1, 3, 10].contains(packet.tag) else { return nil }
            offset = packet.end
            passphrases += packet.tag == 3 ? 1 : 0
            guard passphrases <= maximalPassphrases else {
                return OpenPGPError(
                    .corrupt, "the message is malformed: it names more than \(maximalPassphrases) passphrases"
                )
            }
        }
        return OpenPGPError(
            .corrupt, "the message is malformed: it names more than \(maximalRecipients) recipients")
    }
}
