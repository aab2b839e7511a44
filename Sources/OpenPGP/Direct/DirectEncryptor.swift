import CGPGME
import Glibc
import Synchronization
import System
import SystemPackage

/// Encrypts without starting gpg where the result is surely of the form that gpg would give, and leaves the rest to gpg,
/// which is still who knows keys.
final class DirectEncryptor: Encrypting {
    private let gnupg: GnuPG
    /// gpg is new enough to use OCB for keys that announce it (RFC 9580's predecessor drafts).
    private let knowsOCB: Bool
    /// The gpg whose version is known. One that takes its place may have other ways.
    private let programIdentity: HomeIdentity
    private let cache = Mutex(KeyMaterialCache())
    private let notice: @Sendable (String) -> Void
    private let hasNoted = Atomic<Bool>(false)

    /// nil where the gpg at hand is none whose ways are known, or libgcrypt cannot be used.
    /// - Parameter notice: Told once when encrypting fails that should not; gpg does it then.
    init?(before gnupg: GnuPG, notice: @escaping @Sendable (String) -> Void) {
        let version = gnupg.program.version
        guard Gcrypt.isReady, version.hasPrefix("2.2.") || version.hasPrefix("2.4.") else { return nil }
        self.gnupg = gnupg
        knowsOCB = version.hasPrefix("2.4.")
        programIdentity = HomeIdentity([gnupg.program.path])
        self.notice = notice
    }

    func encrypt(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel
    ) throws(OpenPGPError) -> [UInt8] {
        if let message = directly(plaintext, to: recipients, trust: trust, at: Int64(time(nil))) {
            return message
        }
        return try gnupg.encrypt(plaintext, to: recipients, trust: trust)
    }

    /// nil where only gpg surely does what gpg would do; what is wrong with a recipient is gpg's to say.
    func directly(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel, at now: Int64
    ) -> [UInt8]? {
        // With gpg's own trust model a signature that ran out since the listing counts.
        guard trust == .always, now > 0, let date = UInt32(exactly: now), !recipients.isEmpty,
            recipients.allSatisfy({ $0.objection(at: now) == nil }),
            let targets = targets(for: recipients, at: now)
        else { return nil }
        var packets: [PublicKeyPacket] = []
        for target in targets where !packets.contains(target.packet) { packets.append(target.packet) }
        do {
            let message = try plaintext.withUnsafeBytes { (bytes) throws(OpenPGPError) in
                try MessageWriter.message(bytes, to: packets, date: date)
            }
            try Packets.verify(message, isFor: targets.map(\.recipient))
            return message
        } catch {
            if !hasNoted.exchange(true, ordering: .relaxed) {
                notice("encrypting without gpg failed, falling back to gpg: \(error)")
            }
            return nil
        }
    }

    /// Whether gpg, as it is now and told by its configuration as it is now, encrypts as we do.
    private var isGpgAsKnown: Bool {
        HomeIdentity([gnupg.program.path]) == programIdentity
            && ConfigurationFiles.areHarmless(gnupg.configurationPaths)
    }

    /// The recipients as the keyring has them now, each with the subkey to encrypt to.
    private func targets(
        for recipients: [Recipient], at now: Int64
    ) -> [KeyMaterial.Target]? {
        let home = HomeIdentity(gnupg.identityPaths)
        var found = materials(of: recipients, home)
        if found == nil {
            // After a change of the keyring the first listing makes gpg compute its trust database anew.
            let later = HomeIdentity(gnupg.identityPaths)
            if later != home { found = materials(of: recipients, later) }
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
        of recipients: [Recipient], _ home: HomeIdentity
    ) -> [Fingerprint: KeyMaterial]? {
        let fingerprints = Set(recipients.map(\.key.fingerprint))
        if cache.withLock({ $0.home != home }) {
            let isAsKnown = isGpgAsKnown
            cache.withLock { if $0.home != home { $0.renew(home, isGpgAsKnown: isAsKnown) } }
        }
        let unknown: [Fingerprint]? = cache.withLock { cache in
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
            defer { cache.withLock { $0.isLearning = false } }
            guard let learned = try? learn(unknown), HomeIdentity(gnupg.identityPaths) == home else {
                return nil
            }
            cache.withLock { $0.remember(learned, home: home) }
        }
        return cache.withLock { cache in
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
        _ fingerprints: [Fingerprint]
    ) throws(OpenPGPError) -> [Fingerprint: KeyMaterial?] {
        let listed = try gnupg.keys(
            matching: fingerprints.map(\.description), secretOnly: false, askingAgent: false)
        let exported = ExportedKey.keys(in: try exportMinimally(fingerprints)) ?? []
        var learned: [Fingerprint: KeyMaterial?] = [:]
        for fingerprint in fingerprints {
            let key = listed.filter { $0.fingerprint == fingerprint }
            let export = exported.filter { $0.packets.first?.fingerprint == fingerprint }
            guard key.count == 1, export.count == 1 else {
                learned[fingerprint] = .some(nil)
                continue
            }
            learned[fingerprint] = KeyMaterial(key[0], export[0], knowsOCB: knowsOCB)
        }
        return learned
    }

    /// Exports public keys, binary, each user id with its newest self-signature only.
    private func exportMinimally(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8] {
        let exported = try gnupg.export(
            fingerprints, gpgme_export_mode_t(GPGME_EXPORT_MODE_MINIMAL), isArmored: false)
        // "armor" in gpg.conf.
        return Armor.decode(exported, .publicKey) ?? exported
    }
}
