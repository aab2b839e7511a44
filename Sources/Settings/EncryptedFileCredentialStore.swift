import Glibc
public import OpenPGP
import System
public import SystemPackage

/// What a file of a credential is written and read with.
public typealias CredentialCipher = Decrypting & Encrypting & Keyring

/// Credentials as files, each encrypted to the user's own key: for a session without a Secret Service.
///
/// `FOLDER/STORE.KIND.gpg`, and beside it `STORE.KIND.expires` where an expiry is known: asking for that must ask for no
/// passphrase.
public struct EncryptedFileCredentialStore: CredentialStore {
    private let folder: FilePath
    private let engine: @Sendable () throws(OpenPGPError) -> any CredentialCipher
    private let ownKey: String?

    /// A place in a folder, which is made (0700) with the first credential.
    /// - Parameters:
    ///   - ownKey: the key to encrypt to, as a line of `.gpg-id` names it; nil takes the first secret key that can
    ///     be encrypted to.
    ///   - engine: makes the engine when it is first needed.
    public init(
        folder: FilePath, ownKey: String? = nil,
        engine: @escaping @Sendable () throws(OpenPGPError) -> any CredentialCipher
    ) {
        self.folder = folder
        self.engine = engine
        self.ownKey = ownKey
    }

    /// "encrypted file".
    public var place: String { "encrypted file" }
    /// Always: whether there is a key is seen when one is needed.
    public var isAvailable: Bool { true }

    /// As the protocol says.
    public func save(
        _ secret: SecretBytes, as key: CredentialKey, expires: Int64?
    ) throws(CredentialError) {
        let ciphertext = try rethrowing(encrypted(secret)) { (error: OpenPGPError) in
            CredentialError(.unavailable, "the credential cannot be encrypted: \(error.message)")
        }
        try rethrowing(write(ciphertext, as: key, expires: expires)) { (error: Errno) in
            CredentialError(.failed, "\(folder) cannot be written: \(error)")
        }
    }

    private func encrypted(_ secret: SecretBytes) throws(OpenPGPError) -> [UInt8] {
        let engine = try engine()
        guard let recipient = try recipient(engine) else {
            throw OpenPGPError(
                .missingKey,
                "you have no secret key to encrypt to: create one with gpg --quick-gen-key")
        }
        return try engine.encrypt(secret, to: [recipient])
    }

    private func write(_ ciphertext: [UInt8], as key: CredentialKey, expires: Int64?) throws(Errno) {
        try folder.makeFolders()
        // First without the old expiry: a new token must not be said to expire when the old one did.
        try remove(file(key, "expires"))
        try PrivateFile.write(ciphertext, to: file(key, "gpg"))
        if let expires { try PrivateFile.write(Array("\(expires)\n".utf8), to: file(key, "expires")) }
    }

    /// As the protocol says; may wait for a passphrase.
    public func load(_ key: CredentialKey) throws(CredentialError) -> SecretBytes? {
        let file = file(key, "gpg")
        let ciphertext = try rethrowing(PrivateFile.read(file)) { (error: Errno) in
            CredentialError(.failed, "\(file) cannot be read: \(error)")
        }
        guard let ciphertext else { return nil }
        return try rethrowing(engine().decrypt(ciphertext, limit: 1 << 20, timeout: .seconds(120))) {
            (error: OpenPGPError) in
            CredentialError(.refused, "\(file) cannot be decrypted: \(error.message)")
        }
    }

    /// As the protocol says.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
        for suffix in ["gpg", "expires", "gpg.new", "expires.new"] {
            try rethrowing(remove(file(key, suffix))) { (error: Errno) in
                CredentialError(.failed, "\(file(key, "gpg")) cannot be removed: \(error)")
            }
        }
    }

    /// As the protocol says.
    public func entries() throws(CredentialError) -> [CredentialKey: CredentialFacts] {
        var found: [CredentialKey: CredentialFacts] = [:]
        for name in PrivateFile.names(in: folder) where name.hasSuffix(".gpg") {
            let parts = name.dropLast(4).split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2, let kind = CredentialKind(rawValue: parts[1]) else { continue }
            let key = CredentialKey(store: parts[0], kind: kind)
            let text = (try? PrivateFile.read(file(key, "expires"))).flatMap { $0 }
            let expires = text.flatMap { Int64(String(decoding: $0, as: UTF8.self).filter(\.isNumber)) }
            found[key] = CredentialFacts(
                place: place, made: file(key, "gpg").facts().map { Int64($0.st_mtim.tv_sec) },
                expires: expires)
        }
        return found
    }

    private func file(_ key: CredentialKey, _ suffix: String) -> FilePath {
        folder.appending("\(key.store).\(key.kind.rawValue).\(suffix)")
    }

    private func remove(_ file: FilePath) throws(Errno) {
        guard !file.unlink(), errno != ENOENT else { return }
        throw Errno(rawValue: errno)
    }

    private func recipient(_ engine: any CredentialCipher) throws(OpenPGPError) -> Recipient? {
        if let ownKey { return try engine.resolve(ownKey).first }
        let now = Int64(time(nil))
        let own = try engine.keys(matching: [], secretOnly: true)
        return own.map { Recipient(key: $0, named: $0.fingerprint.description) }
            .first { $0.isOwn && $0.encryptionState(at: now) == .usable }
    }
}
