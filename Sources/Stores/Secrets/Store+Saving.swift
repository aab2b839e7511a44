import Glibc
import OpenPGP
import System
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
    /// Whom it was encrypted to.
    let list: RecipientList
    private let isPublished = Atomic<Bool>(false)

    init(root: Root, temporary: FilePath, for list: RecipientList) throws(Errno) {
        self.root = root
        self.list = list
        self.temporary = temporary
        // What was saved is read once more for those who keep it from git: that is nobody's read.
        file = try OwnedDescriptor.leavingAccessTime { (flag) throws(Errno) in
            try root.open(temporary, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | flag, mode: 0o600)
        }
        try file.lock()
    }

    /// Renames the ciphertext over `secret`. Returns the facts of what now lies there. It is durable after
    /// `Root.synchronizeParent(of:)`.
    public func publish(as secret: FilePath) throws(StoreError) -> FileStatus {
        return try StoreError.wrapping("put in place", secret) {
            try root.rename(temporary, to: secret)
            markPublished()
            // By the descriptor: somebody else may already have replaced the file.
            return try file.status()
        }
    }

    /// What was written, whatever lies under its name; nil where there is no descriptor for it.
    public func held() -> HeldFile? {
        let copy = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        return copy < 0 ? nil : try? HeldFile(OwnedDescriptor(copy))
    }

    /// The temporary name is no longer this one's to remove.
    func markPublished() {
        isPublished.store(true, ordering: .relaxed)
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
        let ciphertext = try StoreError.wrapping {
            try engine.encrypt(plaintext, to: list.recipients, trust: options.trust)
        }
        let number = temporaryCount.wrappingAdd(1, ordering: .relaxed).newValue
        let temporary = FilePath("\(Self.temporaryPrefix)\(getpid())-\(number).tmp")
        return try StoreError.wrapping("write the ciphertext of", secret) {
            let staged = try StagedSecret(root: root, temporary: temporary, for: list)
            try staged.file.writeDurably(ciphertext, accessed: accessed, modified: modified)
            return staged
        }
    }

    /// Whether a secret that was put in place is for those whom it has to be for now.
    ///
    /// Asked after the secret is in place: who changes recipients puts the list in place and looks for secrets after
    /// it, so that one of the two sees what the other did. A list that cannot be used, or that nobody has agreed to
    /// yet, is none that a secret has to be encrypted to.
    public func isForItsRecipients(_ staged: StagedSecret, at secret: FilePath) -> Bool {
        guard let now = try? recipients(for: secret) else { return true }
        return now == staged.list
    }

    /// Encrypts a secret to its recipients and puts it in place, again until they are those that are in force then.
    /// Durable after `Root.synchronizeParent(of:)`.
    public func write(_ plaintext: SecretBytes, to secret: FilePath) throws(StoreError) {
        for _ in 0..<16 {
            let staged = try stage(plaintext, for: secret)
            _ = try staged.publish(as: secret)
            if isForItsRecipients(staged, at: secret) { return }
        }
        throw StoreError(
            .unstable, "the recipients of \(secret.string) change faster than it can be encrypted: try again."
        )
    }

    /// Removes temporary files that a process which no longer runs has left in the store's folder. They hold
    /// ciphertext of saves that were never acknowledged.
    public func removeLeftTemporaries() throws(StoreError) {
        try StoreError.wrapping("remove leftover temporary files from", FilePath()) {
            for entry in try root.entries(of: FilePath()) where entry.kind == .regular {
                let name = entry.name.string
                guard name.hasPrefix(Self.temporaryPrefix), name.hasSuffix(".tmp") else { continue }
                let path = FilePath(root: nil, [entry.name])
                let file = try root.openToLook(path)
                guard (try? file.lock()) != nil else { continue }
                try root.unlink(path)
            }
        }
    }
}

/// Makes temporary names unique in this process.
private let temporaryCount = Atomic<UInt64>(0)
