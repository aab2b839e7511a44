/// A key as gpg exports it: its public key packets, and what its self-signatures say of messages to it.
struct ExportedKey {
    /// The primary key's, then those of the subkeys.
    private(set) var packets: [PublicKeyPacket] = []
    /// What each self-signature on a user id, or on the key itself, says; gpg takes the one of the primary user id.
    private(set) var preferences: [SignatureFacts] = []
    /// What the signatures that bind subkeys say.
    private(set) var bindings: [SignatureFacts] = []
    /// Something in it could not be understood.
    private(set) var isStrange = false

    /// Parts a minimal export into its keys. nil when the packets are not whole.
    static func keys(in export: [UInt8]) -> [ExportedKey]? {
        export.withUnsafeBytes(keys)
    }

    private static func keys(in export: UnsafeRawBufferPointer) -> [ExportedKey]? {
        var reader = PacketReader(export)
        var keys: [ExportedKey] = []
        var offset: Int64 = 0
        while offset < Int64(export.count) {
            guard let packet = try? reader.header(at: offset), packet.isWhole else { return nil }
            let body = Array(export[Int(packet.bodyStart)..<Int(packet.end)])
            offset = packet.end
            if packet.tag == 6 { keys.append(ExportedKey()) }
            guard !keys.isEmpty else { return nil }
            keys[keys.count - 1].add(body, tag: packet.tag)
        }
        return keys
    }

    private mutating func add(_ body: [UInt8], tag: UInt8) {
        switch tag {
        case 6, 14:
            if let packet = PublicKeyPacket(body: body) { packets.append(packet) } else { isStrange = true }
        case 2: add(signature: body)
        // User ids and photos: what is signed below them counts. Trust and marker packets say nothing.
        case 10, 12, 13, 17: break
        default: isStrange = true
        }
    }

    private mutating func add(signature body: [UInt8]) {
        guard let facts = SignatureFacts(body: body) else {
            isStrange = true
            return
        }
        switch facts.type {
        case 0x10...0x13, 0x1f: preferences.append(facts)
        case 0x18: bindings.append(facts)
        // Revocations: gpg's listing tells what follows from them.
        case 0x20, 0x28, 0x30: break
        default: isStrange = true
        }
    }

    /// Whether gpg takes AES with 256 bits and a modification detection code for whatever recipients this key is
    /// among, as long as the others say so too: it is the first choice in every self-signature that could count.
    ///
    /// gpg ranks the ciphers that all recipients list by the sum of their places (`select_algo_from_prefs`); what is
    /// first everywhere wins.
    /// - Parameter knowsOCB: Whether gpg is new enough to take another packet for keys that announce it.
    func takesOurForm(knowsOCB: Bool) -> Bool {
        guard !isStrange, !preferences.isEmpty else { return false }
        let isSimple = (preferences + bindings).allSatisfy {
            !$0.asksForMoreRecipients && !$0.hasUnknownCritical
        }
        return isSimple
            && preferences.allSatisfy { facts in
                facts.ciphers.first == SessionKey.cipher && facts.features & 1 != 0
                    && !(knowsOCB && facts.features & 2 != 0)
            }
    }
}
