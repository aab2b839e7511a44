import Glibc
public import OpenPGP
public import SystemPackage
import Synchronization

/// A ciphertext that is durable on disk under a temporary name, not yet in its place.
///
/// It is published or, when it is let go, removed. While this process works at it the file is locked, which tells it
/// from one that a crash has left.
public final class StagedSecret: Sendable {
    let root: Root
    let temporary: FilePath
    let file: OwnedDescriptor
    private let isPublished = Atomic<Bool>(false)

    init(root: Root, temporary: FilePath) throws(Errno) {
        self.root = root
        self.temporary = temporary
        file = try root.open(temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else { throw Errno.last }
    }

    /// Renames the ciphertext over `secret`. Returns the facts of what now lies there. It is durable after
    /// `Root.synchronizeParent(of:)`.
    public func publish(as secret: FilePath) throws(StoreError) -> FileStatus {
        do {
            try root.rename(temporary, to: secret)
            isPublished.store(true, ordering: .relaxed)
            // By the descriptor: somebody else may already have replaced the file.
            return try file.status()
        } catch {
            throw StoreError(error, "put in place", secret)
        }
    }

    deinit {
        if !isPublished.load(ordering: .relaxed) { try? root.unlink(temporary) }
    }
}

extension Store {
    /// How the names of our temporary files start. They lie in the store's folder itself, are never shown and never
    /// committed.
    public static let temporaryPrefix = ".passdir-"

    /// Encrypts a secret to the recipients of `secret` and makes the ciphertext durable under a temporary name.
    ///
    /// `modified` becomes the file's modification time, so that a program sees the same one before and after the
    /// save.
    public func stage(
        _ plaintext: SecretBytes, for secret: FilePath, accessed: FileTime? = nil, modified: FileTime? = nil
    ) throws(StoreError) -> StagedSecret {
        guard plaintext.count <= options.secretLimit else {
            throw StoreError(.tooLarge, "\(secret.string) is larger than limits.secret allows.")
        }
        let list = try recipients(for: secret)
        let ciphertext: [UInt8]
        do {
            ciphertext = try engine.encrypt(plaintext, to: list.recipients, trust: options.trust)
        } catch {
            throw StoreError(error)
        }
        let number = temporaryCount.wrappingAdd(1, ordering: .relaxed).newValue
        let temporary = FilePath("\(Self.temporaryPrefix)\(getpid())-\(number).tmp")
        do {
            let staged = try StagedSecret(root: root, temporary: temporary)
            try staged.file.writeDurably(ciphertext, accessed: accessed, modified: modified)
            return staged
        } catch {
            throw StoreError(error, "write the ciphertext of", secret)
        }
    }

    /// Removes temporary files that a process which no longer runs has left in the store's folder. They hold
    /// ciphertext of saves that were never acknowledged.
    public func removeLeftTemporaries() throws(StoreError) {
        do {
            for entry in try root.entries(of: FilePath()) where entry.kind == .regular {
                let name = entry.name.string
                guard name.hasPrefix(Self.temporaryPrefix), name.hasSuffix(".tmp") else { continue }
                let path = FilePath(root: nil, [entry.name])
                let file = try root.open(path, flags: O_RDONLY | O_NONBLOCK)
                guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else { continue }
                try root.unlink(path)
            }
        } catch {
            throw StoreError(error, "remove left temporary files from", FilePath())
        }
    }
}

/// Makes temporary names unique in this process.
private let temporaryCount = Atomic<UInt64>(0)
