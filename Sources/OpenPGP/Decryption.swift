public import System

/// How a message is to be decrypted.
public struct DecryptionRequest: Sendable {
    /// The most bytes of plaintext to accept; beyond it the error is `tooLarge`.
    public var limit: Int
    /// The longest the call may wait for its turn, and from when a person is asked as long again for the answer; nil: any time.
    public var timeout: Duration?
    /// Stops the call from another thread; the error is then `canceled`.
    public var cancellation: Cancellation?
    /// Whether a person may be asked for a passphrase; where one would have to be and may not, the error is
    /// `noPinentry`.
    public var mayAsk: Bool
    /// Where that person sits, looked up only when somebody is asked.
    public var place: @Sendable () -> PromptPlace
    /// The message's session key, when it is known: no secret key is needed then. One that does not fit makes no
    /// difference.
    public var key: MessageKey?

    /// A request; all but the limit may be left out.
    public init(
        limit: Int, timeout: Duration? = nil, cancellation: Cancellation? = nil, mayAsk: Bool = true,
        place: @escaping @Sendable () -> PromptPlace = { .ofThisProcess }, key: MessageKey? = nil
    ) {
        self.limit = limit
        self.timeout = timeout
        self.cancellation = cancellation
        self.mayAsk = mayAsk
        self.place = place
        self.key = key
    }
}

/// What became of a message.
public struct Decrypted: Sendable {
    /// What was encrypted.
    public let plaintext: SecretBytes
    /// With it the same message is decrypted again without its secret key; nil where gpg decrypted it.
    public let key: MessageKey?
}

extension Decrypting {
    /// Decrypts one OpenPGP message; the parameters are those of `DecryptionRequest`.
    public func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, limit: Int, timeout: Duration?, cancellation: Cancellation?,
        mayAsk: Bool, place: @escaping @Sendable () -> PromptPlace = { .ofThisProcess }
    ) throws(OpenPGPError) -> SecretBytes {
        try decrypt(
            ciphertext,
            DecryptionRequest(
                limit: limit, timeout: timeout, cancellation: cancellation, mayAsk: mayAsk, place: place)
        ).plaintext
    }

    /// Decrypts without a time limit.
    public func decrypt(_ ciphertext: UnsafeRawBufferPointer, limit: Int) throws(OpenPGPError) -> SecretBytes
    {
        try decrypt(ciphertext, DecryptionRequest(limit: limit)).plaintext
    }

    /// Decrypts a message that lies in an array.
    public func decrypt(
        _ ciphertext: [UInt8], limit: Int, timeout: Duration? = nil, cancellation: Cancellation? = nil
    ) throws(OpenPGPError) -> SecretBytes {
        try ciphertext.withBytes { (bytes) throws(OpenPGPError) in
            try decrypt(bytes, limit: limit, timeout: timeout, cancellation: cancellation, mayAsk: true)
        }
    }
}
