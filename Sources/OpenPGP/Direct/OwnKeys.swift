import CGPGME

/// A secret key of ours, as far as a message needs it.
struct OwnKey: Sendable {
    /// How gpg-agent names it.
    let keygrip: String
    let packet: PublicKeyPacket
    /// What a person who is asked for its passphrase is told.
    let description: String
}

/// The secret keys that decrypt, by their ids, while the files of the home stay as they are.
struct OwnKeys: Sendable {
    let home: HomeIdentity
    /// Whether gpg and its configuration let us decrypt at all.
    let isGpgAsKnown: Bool
    /// nil where several keys have the id.
    private(set) var keys: [UInt64: OwnKey?] = [:]

    init(home: HomeIdentity, isGpgAsKnown: Bool) {
        self.home = home
        self.isGpgAsKnown = isGpgAsKnown
    }

    /// Learns the keys from gpg: how it lists them, and what it exports.
    static func learn(_ gnupg: GnuPG, _ home: HomeIdentity, _ bounds: Bounds) throws(OpenPGPError) -> OwnKeys
    {
        var own = OwnKeys(home: home, isGpgAsKnown: true)
        let listed = try gnupg.keys(matching: [], secretOnly: true, askingAgent: true, bounds)
        guard !listed.isEmpty else { return own }
        let exported = try gnupg.export(
            listed.map(\.fingerprint), gpgme_export_mode_t(0), isArmored: false, bounds)
        // "armor" in gpg.conf.
        let bytes = Armor.decode(exported, .publicKey) ?? exported
        var packets: [Fingerprint: PublicKeyPacket] = [:]
        for key in ExportedKey.keys(in: bytes) ?? [] {
            for packet in key.packets { packets[packet.fingerprint] = packet }
        }
        for key in listed {
            for subkey in key.subkeys where subkey.hasSecret && subkey.canEncrypt {
                guard let packet = packets[subkey.fingerprint], isKeygrip(subkey.keygrip) else { continue }
                let isTaken = own.keys[subkey.keyID] != nil
                own.keys[subkey.keyID] = .some(
                    isTaken
                        ? nil
                        : OwnKey(
                            keygrip: subkey.keygrip, packet: packet,
                            description:
                                "The passphrase is needed for the OpenPGP secret key of\n\(key.title)"))
            }
        }
        return own
    }

    private static func isKeygrip(_ text: String) -> Bool {
        text.utf8.count == 40 && text.utf8.allSatisfy(Fingerprint.isHexadecimal)
    }
}
