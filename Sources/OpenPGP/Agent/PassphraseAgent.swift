/// What is asked of gpg-agent beside keys; an engine may be one.
public protocol PassphraseAgent: Sendable {
    /// Whether a person would be asked for a passphrase before a message is decrypted: true only where that is sure. Asks
    /// nobody; may wait for gpg-agent for two seconds.
    func asksForPassphrase(toDecrypt ciphertext: UnsafeRawBufferPointer) -> Bool

    /// Has gpg-agent forget all passphrases that it knows, whatever they are for. May wait for it for a second.
    /// - Returns: false where it did not answer.
    @discardableResult
    func forgetPassphrases() -> Bool
}
