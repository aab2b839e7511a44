/// What is needed to encrypt to a key without gpg: how gpg lists it, and the packets that it exports.
struct KeyMaterial: Sendable {
    /// As gpg listed it; the dates in it are looked at whenever it is used.
    let key: Key
    /// The packets of its subkeys, each under the fingerprint that was computed over it.
    private let packets: [Fingerprint: PublicKeyPacket]

    /// nil where only gpg surely encrypts as gpg does.
    init?(_ key: Key, _ exported: ExportedKey, knowsOCB: Bool) {
        guard exported.packets.first?.fingerprint == key.fingerprint,
            exported.takesOurForm(knowsOCB: knowsOCB)
        else { return nil }
        self.key = key
        packets = Dictionary(exported.packets.map { ($0.fingerprint, $0) }) { first, _ in first }
    }

    /// A recipient as the keyring has it, and what is encrypted to.
    struct Target {
        let recipient: Recipient
        let packet: PublicKeyPacket
    }

    /// The subkey that gpg takes at `now` for this recipient; nil where that is not sure, or where gpg would refuse.
    func target(for recipient: Recipient, at now: Int64) -> Target? {
        // The keyring as it is now counts, not as it was when the recipient was looked up.
        let current = recipient.with(key)
        guard current.encryptionState(at: now) == .usable, let subkey = current.encryptionSubkey(at: now)
        else {
            return nil
        }
        // gpg ignores keys from the future; and which of two of the same age it takes is better left to it.
        guard key.created <= now, key.subkeys.allSatisfy({ $0.created <= now }) else { return nil }
        let rivals = key.subkeys.filter { $0.canEncrypt && $0.created == subkey.created }
        guard rivals.count == 1 || recipient.subkey != nil else { return nil }
        guard let packet = packets[subkey.fingerprint], packet.material?.isForEncryption == true
        else { return nil }
        return Target(recipient: current, packet: packet)
    }
}

/// What was learned of keys while the files of the home stay as they are.
struct KeyMaterialCache {
    private(set) var home: HomeIdentity?
    /// Whether gpg and its configuration let us encrypt at all.
    private(set) var isGpgAsKnown = false
    /// Somebody asks gpg right now.
    var isLearning = false
    /// nil for keys that are left to gpg.
    private var materials: [Fingerprint: KeyMaterial?] = [:]

    /// What is known of a key: nil when nothing is.
    func known(_ key: Fingerprint) -> KeyMaterial?? { materials[key] }

    /// Forgets everything, for the home is another now.
    mutating func renew(_ home: HomeIdentity, isGpgAsKnown: Bool) {
        self.home = home
        self.isGpgAsKnown = isGpgAsKnown
        materials = [:]
    }

    /// Keeps what was learned, unless the home is another by now.
    mutating func remember(_ learned: [Fingerprint: KeyMaterial?], home: HomeIdentity) {
        guard self.home == home else { return }
        // Recipients come from files that others may write.
        if materials.count >= 10_000 { materials = [:] }
        materials.merge(learned) { _, new in new }
    }
}
