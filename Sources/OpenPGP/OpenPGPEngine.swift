import System
public import SystemPackage

/// How messages are encrypted and decrypted.
public enum EncryptionWay: Sendable, Hashable {
    /// Without starting gpg where the result is surely of the form that gpg would give, else with gpg.
    case direct
    /// Always with gpg.
    case gpg
}

/// The engine of a keyring, and the one place that decides what it is made of: GnuPG, with faster ways put before it
/// where they apply.
public struct OpenPGPEngine: Engine, PassphraseAgent {
    /// The directory with the keyring.
    public let home: FilePath

    /// The directory with the keyring where none is named: GNUPGHOME, else `~/.gnupg`.
    public static var defaultHome: FilePath { GnuPG.defaultHome }
    private let parts: EngineParts

    /// Starts nothing: gpg is looked for when it is first needed, as gpgme starts five programs for that.
    /// - Parameters:
    ///   - home: The directory with the keyring; nil: GNUPGHOME, else `~/.gnupg`.
    ///   - way: Whether messages may be encrypted and decrypted without starting gpg.
    ///   - notice: Told, at most once, in a sentence when encrypting fails for a reason that should not be; gpg does it
    ///     then.
    public init(
        home: FilePath? = nil, encryption way: EncryptionWay = .direct,
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let home = home ?? GnuPG.defaultHome
        self.home = home
        parts = EngineParts(home: home, encryption: way, notice: notice)
    }

    /// Looks for gpg now, for who wants to know before anything is asked of it.
    /// - Throws: `noEngine`, as everything that needs gpg does.
    public func prepare() throws(OpenPGPError) { _ = try parts.made() }

    var decryption: any Decrypting {
        get throws(OpenPGPError) { try parts.made().decryption }
    }

    var encryption: any Encrypting {
        get throws(OpenPGPError) { try parts.made().encryption }
    }

    private var gnupg: GnuPG {
        get throws(OpenPGPError) { try parts.made().gnupg }
    }

    /// Prepares libgcrypt's secure memory before any other library of the process does, which would leave it in core
    /// dumps.
    public static func prepareLibraries() { _ = Gcrypt.isReady }

    /// For a process that runs on: it asks gpg again also where gpg or its agent once did not answer in time.
    public static func asksAgainAfterSilence() { GpgSilence.forget() }

    /// As `Decrypting` says.
    public func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted {
        do throws(OpenPGPError) { return try decryption.decrypt(ciphertext, request) } catch {
            if error.code == .noSecretKey, let lack = (try? gnupg)?.lack {
                throw OpenPGPError(error.code, "\(error.message) (\(lack))", subject: error.subject)
            }
            throw request.mayAsk ? named(error) : error
        }
    }

    /// Why no pinentry of this home could ask, where its configuration names one that is not there; nil where that is not so.
    public var missingPinentry: String? { AgentConfiguration.missingPinentry(home: home) }

    /// An error with the pinentry that is missing.
    private func named(_ error: OpenPGPError) -> OpenPGPError {
        guard error.code == .noPinentry, let missingPinentry else { return error }
        return OpenPGPError(
            error.code, "no pinentry could ask for the passphrase: \(missingPinentry)",
            subject: error.subject)
    }

    /// As `PassphraseAgent` says; false, too, where gpg is always what decrypts.
    public func asksForPassphrase(toDecrypt ciphertext: UnsafeRawBufferPointer) -> Bool {
        ((try? decryption) as? DirectDecryptor)?.asksForPassphrase(toDecrypt: ciphertext) ?? false
    }

    /// As `PassphraseAgent` says.
    public func forgetPassphrases() -> Bool { (try? parts.made())?.agent.forgetPassphrases() ?? false }

    /// As `Encrypting` says.
    public func encrypt(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel
    ) throws(OpenPGPError) -> [UInt8] {
        try encryption.encrypt(plaintext, to: recipients, trust: trust)
    }

    /// As `Keyring` says.
    public func resolve(_ line: String, askingAgent: Bool) throws(OpenPGPError) -> [Recipient] {
        try gnupg.resolve(line, askingAgent: askingAgent)
    }

    /// As `Keyring` says.
    public func keys(matching patterns: [String], secretOnly: Bool) throws(OpenPGPError) -> [Key] {
        try gnupg.keys(matching: patterns, secretOnly: secretOnly)
    }

    /// As `Keyring` says.
    public func keys(in data: [UInt8]) throws(OpenPGPError) -> [Key] { try gnupg.keys(in: data) }

    /// As `Keyring` says.
    public func importKeys(_ data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] {
        try gnupg.importKeys(data)
    }

    /// As `Keyring` says.
    public func exportKeys(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8] {
        try gnupg.exportKeys(fingerprints)
    }

    /// As `Keyring` says.
    public func removeKey(_ fingerprint: Fingerprint) throws(OpenPGPError) {
        try gnupg.removeKey(fingerprint)
    }

    /// As `Signing` says.
    public func verifyDetached(signature: [UInt8], of data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] {
        try gnupg.verifyDetached(signature: signature, of: data)
    }

    /// As `Signing` says.
    public func signDetached(
        _ data: [UInt8], by signer: Fingerprint?, timeout: Duration?, cancellation: Cancellation?
    ) throws(OpenPGPError) -> [UInt8] {
        do throws(OpenPGPError) {
            return try gnupg.signDetached(
                data, by: signer, timeout: timeout, cancellation: cancellation)
        } catch { throw named(error) }
    }
}
