import CGPGME
import Glibc
import Synchronization
import System
import SystemPackage

/// Decrypts without starting gpg where the result is surely the one that gpg would give, and leaves the rest to gpg: the
/// session key comes from gpg-agent, which has the secret keys, asks for passphrases and knows cards.
final class DirectDecryptor: Decrypting {
    private let gnupg: GnuPG
    /// The gpg whose version is known. One that takes its place may have other ways.
    private let programIdentity: HomeIdentity
    private let sessionKeys: SessionKeyService
    private let known = Mutex<OwnKeys?>(nil)
    private let learning = Turns()

    /// nil where the gpg at hand is none whose ways are known, or libgcrypt cannot be used.
    init?(before gnupg: GnuPG, _ agent: Agent) {
        let version = gnupg.program.version
        guard Gcrypt.isReady, version.hasPrefix("2.2.") || version.hasPrefix("2.4.") else { return nil }
        self.gnupg = gnupg
        programIdentity = HomeIdentity([gnupg.program.path])
        sessionKeys = SessionKeyService(agent, gnupg.gate)
    }

    /// How many readers wait for a passphrase that another was asked for.
    var waiterCount: Int { sessionKeys.waiterCount }

    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted {
        try gnupg.silence.check()
        let bounds = GnuPG.bounds(of: request)
        if let decrypted = try directly(ciphertext, request, bounds) { return decrypted }
        return Decrypted(plaintext: try gnupg.decrypt(ciphertext, request, bounds), key: nil)
    }

    /// nil where only gpg surely does what gpg would do; what is wrong with a message is gpg's to say.
    /// - Throws: what came of asking a person, and when the caller's time is over.
    func directly(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds
    ) throws(OpenPGPError) -> Decrypted? {
        try bounds.check()
        guard Armor.isArmored(ciphertext) else { return try binary(ciphertext, request, bounds) }
        guard let inside = Armor.decodeStrictly(ciphertext) else { return nil }
        return try inside.withBytes { (bytes) throws(OpenPGPError) in try binary(bytes, request, bounds) }
    }

    private func binary(
        _ bytes: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds
    ) throws(OpenPGPError) -> Decrypted? {
        guard let message = EncryptedMessage(bytes) else { return nil }
        if let key = request.key, let found = plaintext(of: message, bytes, key, request) { return found }
        guard let ours = try ours(of: message, bounds) else { return nil }
        guard let key = try sessionKey(ours, request, bounds) else { return nil }
        return plaintext(of: message, bytes, key, request)
    }

    /// The session keys that are for keys of ours; nil where only gpg knows which it would use.
    private func ours(
        of message: EncryptedMessage, _ bounds: Bounds
    ) throws(OpenPGPError) -> [(EncryptedSessionKey, OwnKey)]? {
        guard let own = try ownKeys(bounds), own.isGpgAsKnown else { return nil }
        return message.sessionKeys.compactMap { sessionKey -> (EncryptedSessionKey, OwnKey)? in
            guard case .some(.some(let key)) = own.keys[sessionKey.keyID],
                key.packet.algorithm == sessionKey.algorithm
            else { return nil }
            return (sessionKey, key)
        }
    }

    /// Whether each of our keys that decrypts a message is locked with a passphrase, so that a person is asked for one; false
    /// where that cannot be told.
    func asksForPassphrase(toDecrypt ciphertext: UnsafeRawBufferPointer) -> Bool {
        let bounds = Bounds(timeout: GnuPG.patienceWithoutAsking, to: "say which keys are locked")
        func asks(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard let message = EncryptedMessage(bytes), let ours = try? ours(of: message, bounds),
                !ours.isEmpty
            else { return false }
            return ours.allSatisfy { isLocked($0.1, bounds) }
        }
        guard Armor.isArmored(ciphertext) else { return asks(ciphertext) }
        return Armor.decodeStrictly(ciphertext)?.withBytes(asks) ?? false
    }

    /// Whether gpg-agent has neither a key nor its passphrase; false where it does not tell. One that does not run is started:
    /// it knows which keys need no passphrase.
    private func isLocked(_ own: OwnKey, _ bounds: Bounds) -> Bool {
        do throws(AgentFailure) { return try sessionKeys.isLocked(own, bounds) } catch {
            guard case .broken = error, gnupg.launchAgent(bounds) else { return false }
            return (try? sessionKeys.isLocked(own, bounds)) ?? false
        }
    }

    /// The session key, from the first of our keys that gives it: those before that ask nobody.
    private func sessionKey(
        _ ours: [(EncryptedSessionKey, OwnKey)], _ request: DecryptionRequest, _ bounds: Bounds
    ) throws(OpenPGPError) -> MessageKey? {
        var refusal: OpenPGPError?
        let rounds = request.mayAsk && ours.count == 1 ? [true] : request.mayAsk ? [false, true] : [false]
        for mayAsk in rounds {
            for (sessionKey, own) in ours {
                do throws(AgentFailure) {
                    return try sessionKeys.key(
                        of: sessionKey, for: own, bounds, mayAsk: mayAsk, request.place)
                } catch .ended(let error) {
                    // With a key that is locked, or whose passphrase is not known, the next may do.
                    guard [.noPinentry, .badPassphrase].contains(error.code) else { throw error }
                    refusal = error
                } catch { return nil }
            }
        }
        if let refusal { throw refusal }
        return nil
    }

    private func plaintext(
        of message: EncryptedMessage, _ bytes: UnsafeRawBufferPointer, _ key: MessageKey,
        _ request: DecryptionRequest
    ) -> Decrypted? {
        let found = try? MessageReader.plaintext(of: message, in: bytes, key: key, limit: request.limit)
        return found.map { Decrypted(plaintext: $0, key: key) }
    }

    /// Our keys as the keyring has them now; nil where gpg does not tell.
    private func ownKeys(_ bounds: Bounds) throws(OpenPGPError) -> OwnKeys? {
        if let own = known.withLock({ $0 }), own.home == HomeIdentity(gnupg.identityPaths) { return own }
        let wakeup = try Wakeup()
        let token = bounds.cancellation?.register { wakeup.wake() }
        defer { bounds.cancellation?.unregister(token) }
        var limits = bounds
        while let waiter = learning.enter("", wakeup) {
            defer { learning.giveUp("", waiter) }
            try waiter.wait(&limits)
        }
        defer { learning.leave("", .tryAgain) }
        // After a change of the keyring the first listing makes gpg compute its trust database anew.
        for _ in 0..<2 {
            let home = HomeIdentity(gnupg.identityPaths)
            if let own = known.withLock({ $0 }), own.home == home { return own }
            guard let own = try learn(home, bounds) else { return nil }
            guard HomeIdentity(gnupg.identityPaths) == home else { continue }
            known.withLock { $0 = own }
            return own
        }
        return nil
    }

    private func learn(_ home: HomeIdentity, _ bounds: Bounds) throws(OpenPGPError) -> OwnKeys? {
        guard HomeIdentity([gnupg.program.path]) == programIdentity,
            ConfigurationFiles.areHarmless(gnupg.configurationPaths, .decryption)
        else { return OwnKeys(home: home, isGpgAsKnown: false) }
        do throws(OpenPGPError) { return try OwnKeys.learn(gnupg, home, bounds) } catch {
            try bounds.check()
            return nil
        }
    }
}

extension GnuPG {
    /// Where gpg-agent listens for this home; nil where that cannot be found out.
    func agentSocket(_ bounds: Bounds) -> FilePath? {
        guard let output = configurationTool(["--list-dirs", "agent-socket"], bounds) else { return nil }
        let path = String(decoding: output.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return path.hasPrefix("/") ? FilePath(path) : nil
    }

    /// Starts gpg-agent for this home, as gpg does when it needs it.
    fileprivate func launchAgent(_ bounds: Bounds) -> Bool {
        configurationTool(["--launch", "gpg-agent"], bounds) != nil
    }

    /// What gpgconf prints; nil where it fails.
    private func configurationTool(_ words: [String], _ bounds: Bounds) -> [UInt8]? {
        guard let program = gpgme_get_dirinfo("gpgconf-name") else { return nil }
        let home = homeOption.map { ["--homedir", $0] } ?? []
        let outcome = try? ChildProcess.run(
            [String(cString: program)] + home + words, environment: ProcessEnvironment.variables(),
            timeout: min(bounds.timeLeft ?? .seconds(10), .seconds(10)))
        return outcome.flatMap { $0.status == 0 ? $0.output : nil }
    }
}
