import System
public import SystemPackage

/// What decrypts. Like all of an `Engine`, it blocks the calling thread, may be called from any number of threads at
/// once, and knows nothing of stores.
public protocol Decrypting: Sendable {
    /// Decrypts one OpenPGP message.
    /// - Parameter ciphertext: The whole message, binary or armoured; read during the call only.
    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted
}

/// What encrypts.
public protocol Encrypting: Sendable {
    /// Encrypts to all recipients or throws; nobody is left out silently. The result is binary, holds no file name
    /// and is not compressed, so that its size follows from its packets.
    /// - Parameter trust: Whether a key must be trusted before anything is encrypted to it.
    func encrypt(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel
    ) throws(OpenPGPError) -> [UInt8]
}

/// What knows keys.
public protocol Keyring: Sendable {
    /// The directory with the keyring.
    var home: FilePath { get }

    /// Finds the keys that a line of a `.gpg-id` file means: a key id, a fingerprint, either with `!`, a user id, an
    /// address, or a group of gpg.conf. A group gives all its members, everything else exactly one. A key that
    /// cannot be encrypted to (expired, revoked) is given when it is the only one; `encryptionState` tells.
    /// - Parameter askingAgent: Whether gpg-agent is asked for the keys' secret parts. Without it `hasSecret` is false, and
    ///   an agent that does not answer keeps nobody waiting: who only encrypts needs none.
    func resolve(_ line: String, askingAgent: Bool) throws(OpenPGPError) -> [Recipient]

    /// The keys of the local keyring that match one of the patterns, as `gpg --list-keys` understands them; all when
    /// there is no pattern. Finding nothing is no error.
    func keys(matching patterns: [String], secretOnly: Bool) throws(OpenPGPError) -> [Key]

    /// The keys that `data`, binary or armoured, holds; nothing is imported. What is no key is left out.
    func keys(in data: [UInt8]) throws(OpenPGPError) -> [Key]

    /// Adds public keys, binary or armoured, to the keyring; gives the fingerprints of all keys that were there,
    /// new or known. Nothing is ever removed.
    func importKeys(_ data: [UInt8]) throws(OpenPGPError) -> [Fingerprint]

    /// The public keys, armoured.
    func exportKeys(_ fingerprints: [Fingerprint]) throws(OpenPGPError) -> [UInt8]

    /// Takes a public key out of the keyring. A key whose secret part is here is refused.
    func removeKey(_ fingerprint: Fingerprint) throws(OpenPGPError)
}

/// What signs, and knows a good signature.
public protocol Signing: Sendable {
    /// Who signed: for every good signature by a key that is neither expired nor revoked the fingerprint of the
    /// primary key, then, where it differs, that of the subkey. Throws `badSignature` when any signature is bad, or
    /// none is good.
    func verifyDetached(signature: [UInt8], of data: [UInt8]) throws(OpenPGPError) -> [Fingerprint]

    /// Makes an armoured detached signature with the secret key or subkey `signer`; nil: gpg's default key.
    func signDetached(
        _ data: [UInt8], by signer: Fingerprint?, timeout: Duration?, cancellation: Cancellation?
    ) throws(OpenPGPError) -> [UInt8]
}

/// All of them, for one keyring; `OpenPGPEngine` makes one.
public typealias Engine = Decrypting & Encrypting & Keyring & Signing

extension Keyring {
    /// Finds the keys that a line means, with what gpg-agent has of their secret parts.
    public func resolve(_ line: String) throws(OpenPGPError) -> [Recipient] {
        try resolve(line, askingAgent: true)
    }
}

extension Encrypting {
    /// Encrypts to keys that are trusted because somebody named them, as pass does.
    public func encrypt(_ plaintext: SecretBytes, to recipients: [Recipient]) throws(OpenPGPError) -> [UInt8]
    {
        try encrypt(plaintext, to: recipients, trust: .always)
    }
}

extension Signing {
    /// Signs without a time limit.
    public func signDetached(_ data: [UInt8], by signer: Fingerprint?) throws(OpenPGPError) -> [UInt8] {
        try signDetached(data, by: signer, timeout: nil, cancellation: nil)
    }
}
