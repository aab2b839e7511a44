/// Sizes of plaintexts, by the identities of their ciphertexts, in little memory: of a hundred thousand secrets all.
struct KnownSizes: Sendable {
    /// How many are known at most.
    static let limit = 1 << 17

    /// Device and inode in 64 bits, by a key that is this process's own. Where two files share one, the later one is known.
    private struct FileNumber: Hashable {
        private let hash: Int

        init(_ identity: CiphertextIdentity) {
            var hasher = Hasher()
            hasher.combine(identity.device)
            hasher.combine(identity.inode)
            hash = hasher.finalize()
        }
    }

    private struct Known {
        /// Of the whole identity, likewise.
        var identity: Int
        var plaintext: Int64
    }

    private var sizes: [FileNumber: Known] = [:]

    /// The size of exactly this ciphertext.
    subscript(identity: CiphertextIdentity) -> Int64? {
        let known = sizes[FileNumber(identity)]
        return known?.identity == identity.hashValue ? known?.plaintext : nil
    }

    /// Forgets a ciphertext that is there no more: else each save would leave one behind. By its number alone, as its times may
    /// have changed since it was looked at; what has the number by now is looked at again.
    /// - Returns: whether anything was known.
    mutating func forget(_ identity: CiphertextIdentity) -> Bool {
        sizes.removeValue(forKey: FileNumber(identity)) != nil
    }

    /// - Returns: whether that was not known.
    @discardableResult
    mutating func set(_ plaintext: Int64, of identity: CiphertextIdentity) -> Bool {
        guard self[identity] != plaintext else { return false }
        if sizes.count >= Self.limit {
            // Any half: what is asked for again is found out again.
            var isKept = false
            sizes = sizes.filter { _ in
                isKept.toggle()
                return isKept
            }
        }
        sizes[FileNumber(identity)] = Known(
            identity: identity.hashValue, plaintext: plaintext)
        return true
    }
}
