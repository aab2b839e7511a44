import CGPGME
import Glibc
import Synchronization
import SystemPackage

/// How messages are encrypted.
public enum EncryptionWay: Sendable, Hashable {
    /// Without starting gpg where the result is surely of the form that gpg would give, else with gpg.
    case direct
    /// Always with gpg.
    case gpg
}

/// What encrypting without gpg needs to know; gpg is still who knows keys.
final class DirectEncryption: Sendable {
    /// gpg is new enough to use OCB for keys that announce it (RFC 9580's predecessor drafts).
    let knowsOCB: Bool
    let configurationPaths: [String]
    /// The gpg whose version is known. One that takes its place may have other ways.
    let program: String
    private let programIdentity: HomeIdentity
    let cache = Mutex(KeyMaterialCache())
    private let notice: @Sendable (String) -> Void
    private let hasNoted = Atomic<Bool>(false)

    /// nil where the gpg at hand is none whose ways are known, or libgcrypt cannot be used.
    init?(home: FilePath, notice: @escaping @Sendable (String) -> Void) {
        guard Gcrypt.isReady, let (program, version) = GnuPG.engineInformation else { return nil }
        guard version.hasPrefix("2.2.") || version.hasPrefix("2.4.") else { return nil }
        knowsOCB = version.hasPrefix("2.4.")
        self.program = program
        programIdentity = HomeIdentity([program])
        let systemFolder = gpgme_get_dirinfo("sysconfdir").map { FilePath(String(cString: $0)) }
        configurationPaths = ConfigurationFiles.paths(
            home: home, systemFolder: systemFolder ?? "/etc/gnupg", version: version)
        self.notice = notice
    }

    /// Files in which a change shows of how gpg would encrypt, beside the keyring.
    var identityPaths: [String] { configurationPaths + [program] }

    /// Whether gpg, as it is now and told by its configuration as it is now, encrypts as we do.
    var isGpgAsKnown: Bool {
        HomeIdentity([program]) == programIdentity && ConfigurationFiles.areHarmless(configurationPaths)
    }

    /// Tells, once, that something went wrong which should not.
    func note(_ reason: String) {
        guard !hasNoted.exchange(true, ordering: .relaxed) else { return }
        notice("encrypting without gpg failed, gpg does it: \(reason)")
    }
}

extension GnuPG {
    /// Encrypts without gpg. nil where only gpg surely does what gpg would do; what is wrong with a recipient is gpg's
    /// to say.
    func encryptDirectly(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel, at now: Int64
    ) -> [UInt8]? {
        // With gpg's own trust model a signature that ran out since the listing counts.
        guard let direct, trust == .always, now > 0, let date = UInt32(exactly: now) else { return nil }
        guard let targets = targets(for: recipients, at: now, direct) else { return nil }
        var packets: [PublicKeyPacket] = []
        for target in targets where !packets.contains(target.packet) { packets.append(target.packet) }
        let message: [UInt8]
        do throws(GcryptError) {
            message = try plaintext.withUnsafeBytes { (bytes) throws(GcryptError) in
                try MessageWriter.message(bytes, to: packets, date: date)
            }
        } catch {
            direct.note(error.description)
            return nil
        }
        do throws(OpenPGPError) {
            try Self.verify(message, targets.map(\.recipient))
            return message
        } catch {
            direct.note(error.message)
            return nil
        }
    }

    /// The recipients as the keyring has them now, each with the subkey to encrypt to.
    private func targets(
        for recipients: [Recipient], at now: Int64, _ direct: DirectEncryption
    ) -> [KeyMaterial.Target]? {
        let home = HomeIdentity(identityPaths)
        var found = materials(of: recipients, home, direct)
        if found == nil {
            // After a change of the keyring the first listing makes gpg compute its trust database anew.
            let later = HomeIdentity(identityPaths)
            if later != home { found = materials(of: recipients, later, direct) }
        }
        guard let materials = found else { return nil }
        var targets: [KeyMaterial.Target] = []
        for recipient in recipients {
            guard let target = materials[recipient.key.fingerprint]?.target(for: recipient, at: now) else {
                return nil
            }
            targets.append(target)
        }
        return targets
    }

    /// What is known of the recipients' keys; gpg is asked for what is not. nil when one of them is left to gpg.
    private func materials(
        of recipients: [Recipient], _ home: HomeIdentity, _ direct: DirectEncryption
    ) -> [Fingerprint: KeyMaterial]? {
        let fingerprints = Set(recipients.map(\.key.fingerprint))
        if direct.cache.withLock({ $0.home != home }) {
            let isAsKnown = direct.isGpgAsKnown
            direct.cache.withLock { if $0.home != home { $0.renew(home, isGpgAsKnown: isAsKnown) } }
        }
        let unknown: [Fingerprint]? = direct.cache.withLock { cache in
            guard cache.home == home, cache.isGpgAsKnown else { return nil }
            let unknown = fingerprints.filter { cache.known($0) == nil }
            guard !unknown.isEmpty else { return [] }
            // Others need not wait for one who asks; gpg serves them.
            if cache.isLearning { return nil }
            cache.isLearning = true
            return Array(unknown)
        }
        guard let unknown else { return nil }
        if !unknown.isEmpty {
            defer { direct.cache.withLock { $0.isLearning = false } }
            guard let learned = try? learn(unknown, direct), HomeIdentity(identityPaths) == home else {
                return nil
            }
            direct.cache.withLock { $0.remember(learned, home: home) }
        }
        return direct.cache.withLock { cache in
            guard cache.home == home else { return nil }
            var materials: [Fingerprint: KeyMaterial] = [:]
            for fingerprint in fingerprints {
                guard case .some(.some(let material)) = cache.known(fingerprint) else { return nil }
                materials[fingerprint] = material
            }
            return materials
        }
    }

    /// Asks gpg for keys: how it lists them, and what it exports.
    private func learn(
        _ fingerprints: [Fingerprint], _ direct: DirectEncryption
    ) throws(OpenPGPError) -> [Fingerprint: KeyMaterial?] {
        let listed = try keys(matching: fingerprints.map(\.description), secretOnly: false)
        let exported = ExportedKey.keys(in: try exportMinimally(fingerprints)) ?? []
        var learned: [Fingerprint: KeyMaterial?] = [:]
        for fingerprint in fingerprints {
            let key = listed.filter { $0.fingerprint == fingerprint }
            let export = exported.filter { $0.packets.first?.fingerprint == fingerprint }
            guard key.count == 1, export.count == 1 else {
                learned[fingerprint] = .some(nil)
                continue
            }
            learned[fingerprint] = KeyMaterial(key[0], export[0], knowsOCB: direct.knowsOCB)
        }
        return learned
    }

    /// Exports public keys, binary, each user id with its newest self-signature only.
    private func exportMinimally(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8] {
        let exported = try export(
            fingerprints, gpgme_export_mode_t(GPGME_EXPORT_MODE_MINIMAL), isArmored: false)
        // "armor" in gpg.conf.
        return Armor.decode(exported, .publicKey) ?? exported
    }
}
