/// Sizes of plaintexts, by the identities of their ciphertexts, in little memory: of a hundred thousand secrets all.
struct KnownSizes: Sendable {
    /// How many are known at most.
    static let limit = 1 << 17

    private struct FileNumber: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    private struct Known {
        /// Of the whole identity, in 64 bits, by a key that is this process's own.
        var identity: Int
        var plaintext: Int64
    }

    private var sizes: [FileNumber: Known] = [:]

    /// The size of exactly this ciphertext.
    subscript(identity: CiphertextIdentity) -> Int64? {
        let known = sizes[FileNumber(device: identity.device, inode: identity.inode)]
        return known?.identity == identity.hashValue ? known?.plaintext : nil
    }

    /// Forgets a ciphertext that is there no more: else each save would leave one behind.
    mutating func forget(_ identity: CiphertextIdentity) {
        guard self[identity] != nil else { return }
        sizes[FileNumber(device: identity.device, inode: identity.inode)] = nil
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
        sizes[FileNumber(device: identity.device, inode: identity.inode)] = Known(
            identity: identity.hashValue, plaintext: plaintext)
        return true
    }
}
