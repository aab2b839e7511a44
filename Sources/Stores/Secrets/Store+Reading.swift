import CLinux
import Glibc
public import OpenPGP
public import System
public import SystemPackage

/// A decrypted secret and the ciphertext it came from.
public struct Plaintext: Sendable {
    /// The content.
    public var bytes: SecretBytes
    /// Identity and times of the file that it was read from.
    public var status: FileStatus
    /// Tells the ciphertext from any other, as `Store.stamp`.
    public var stamp: String { ContentIdentity(status.identity).text }
}

extension Store {
    /// Decrypts a secret. May wait for a passphrase, which is asked for at `place`; `cancellation` ends the wait.
    ///
    /// The ciphertext is read in one piece and its identity taken afterwards; one that changed meanwhile is read
    /// again.
    public func plaintext(
        of secret: FilePath, cancellation: Cancellation?, mayAsk: Bool = true,
        place: @escaping @Sendable () -> PromptPlace = { .ofThisProcess }
    ) throws(StoreError) -> Plaintext {
        for _ in 0..<8 {
            let ciphertext: [UInt8]
            let status: FileStatus
            do {
                let file = try root.open(secret, flags: O_RDONLY | O_NONBLOCK)
                let before = try file.status()
                (ciphertext, status) = try file.readAll(limit: options.ciphertextLimit)
                guard before.identity == status.identity, ciphertext.count == Int(status.identity.size) else {
                    continue
                }
            } catch .fileTooLarge {
                throw StoreError(
                    .tooLarge,
                    "\(secret.string) is larger than limits.secret (\(options.secretLimit) bytes) allows.")
            } catch {
                throw StoreError(error, "read", secret)
            }
            if Self.isRecipientFile(secret) { return try unencrypted(ciphertext, status) }
            let bytes = try decrypt(ciphertext, cancellation: cancellation, mayAsk: mayAsk, place: place)
            learned?.remember(size: Int64(bytes.count), of: status.identity, store: identifier)
            return Plaintext(bytes: bytes, status: status)
        }
        throw StoreError(.unstable, "\(secret.string) changes faster than it can be read: try again.")
    }

    /// Decrypts a ciphertext, wherever it came from. May wait for a passphrase, which is asked for at `place`; `cancellation`
    /// ends the wait.
    public func decrypt(
        _ ciphertext: [UInt8], cancellation: Cancellation?, mayAsk: Bool = true,
        place: @escaping @Sendable () -> PromptPlace = { .ofThisProcess }
    ) throws(StoreError) -> SecretBytes {
        let options = options
        return try StoreError.wrapping {
            try ciphertext.withUnsafeBytes { buffer in
                try engine.decrypt(
                    buffer, limit: options.secretLimit, timeout: options.promptTimeout,
                    cancellation: cancellation, mayAsk: mayAsk, place: place)
            }
        }
    }

    /// A `.gpg-id` is as it lies on disk.
    private func unencrypted(_ content: [UInt8], _ status: FileStatus) throws(StoreError) -> Plaintext {
        return try StoreError.wrapping("read", FilePath(root: nil, [Self.recipientFileName])) {
            let bytes = try content.withUnsafeBytes { buffer in
                Result { () throws(Errno) in try SecretBytes(copying: buffer) }
            }.get()
            return Plaintext(bytes: bytes, status: status)
        }
    }

    /// What is known of a secret's size without a key: the size learned when this very ciphertext was open, else
    /// the one that its packets tell, which is found out once, else 0. Never prompts, never decrypts (rule 3 of the map).
    public func knownSize(of secret: FilePath, status: FileStatus) -> Int64 {
        if Self.isRecipientFile(secret) { return status.identity.size }
        if let size = learnedSize(of: status) { return size }
        let (size, identity) = predictedSize(of: secret)
        if let identity { learned?.remember(size: size, of: identity, store: identifier) }
        return size
    }

    /// The size of a secret whose ciphertext was open, or looked at, before; nil where it was not.
    public func learnedSize(of status: FileStatus) -> Int64? { learned?.size(of: status.identity) }

    /// A ciphertext was replaced or removed: nothing need be known of it any more.
    public func forgetSize(of status: FileStatus) { learned?.forgetSize(of: status.identity) }

    /// A ciphertext whose identity has changed but not its bytes, as by a rename: what was learned of it still holds, by that
    /// identity only.
    public func keepSize(of earlier: FileStatus, as now: FileStatus) {
        guard earlier.identity != now.identity, let learned, let size = learned.size(of: earlier.identity)
        else { return }
        // In its place: the file is the same one.
        learned.remember(size: size, of: now.identity, store: identifier)
    }

    /// - Returns: with the identity of the file that was looked into; nil where it could not be.
    private func predictedSize(of secret: FilePath) -> (bytes: Int64, of: CiphertextIdentity?) {
        do {
            let file = try root.openToLook(secret)
            let identity = try file.status().identity
            guard identity.size <= Int64(options.ciphertextLimit) else { return (0, identity) }
            let predicted = try Packets.predictPlaintextSize(fileSize: identity.size) {
                (offset, count) throws(Errno) in
                try file.read(at: offset, count: count)
            }
            return (predicted ?? 0, identity)
        } catch {
            return (0, nil)
        }
    }
}

extension Store {
    /// The bytes of a list or its signature; nil when it is not there. Also of one that is too large to be used: a change puts
    /// another one in its place, or puts it there again.
    func readIfPresent(_ path: FilePath) throws(StoreError) -> [UInt8]? {
        do {
            return try read(path, limit: options.ciphertextLimit)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw StoreError(error, "read", path)
        }
    }
}
