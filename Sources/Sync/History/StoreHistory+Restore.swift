import Git
import OpenPGP
public import Stores
import System
public import SystemPackage

extension StoreHistory {
    /// What the commit says by which a version is put back.
    /// - Parameters:
    ///   - name: of what is restored, as pass has it.
    ///   - day: of the version.
    public static func restoreMessage(
        _ name: FilePath, asOf day: some StringProtocol, _ version: Version
    ) -> String { CommitMessage.restoring(name, asOf: day, version.commit) }

    /// Puts a content in a secret's place, encrypted to today's recipients. It lies on disk then, not committed yet.
    ///
    /// What lies there must have been committed before. Where it was saved once more since, or where git does not
    /// commit it, that version stays beside it as a conflict file: no text is written over that no commit holds.
    /// - Returns: what changed on disk.
    public func put(_ plaintext: SecretBytes, at secret: FilePath) throws(Failure) -> [Change] {
        do {
            var changes: [Change] = [.saved(secret)]
            var ours: UInt64?
            for _ in 0..<16 {
                // Where it cannot be encrypted, nothing is made for it.
                let staged = try store.stage(plaintext, for: secret)
                var folder = FilePath()
                for component in secret.removingLastComponent().components {
                    folder.append(component)
                    try? store.root.makeDirectory(folder)
                }
                let aside = try store.freeConflictPath(beside: secret)
                let published = try staged.publish(as: secret, movingOldTo: aside)
                if published.movedOld {
                    let isOurs = try store.root.status(of: aside).identity.inode == ours
                    if try isOurs || holds(aside, as: secret) {
                        try store.root.unlink(aside)
                    } else {
                        changes.append(.saved(aside))
                    }
                }
                try store.root.synchronizeParent(of: secret)
                // Their list changed while it was encrypted: once more, in the place of our own.
                if store.isForItsRecipients(staged, at: secret) { return changes }
                ours = published.status.identity.inode
            }
            throw StoreError(
                .unstable, "its recipients change faster than it can be encrypted: try again.")
        } catch {
            let reason =
                (error as? StoreError)?.message ?? (error as? GitError)?.message
                ?? (error as? Errno).map { "\($0)" } ?? "\(error)"
            throw failure(secret, reason)
        }
    }

    /// Whether the newest commit holds, at `path`, the bytes that lie at `file` on disk.
    private func holds(_ file: FilePath, as path: FilePath) throws -> Bool {
        let item = try repository.item(at: path, in: try repository.commit(named: "HEAD"))
        guard let item else { return false }
        let status = try store.root.status(of: file)
        let bytes =
            status.kind == .symbolicLink
            ? try store.root.target(ofLink: file)
            : try store.read(file, limit: .max)
        return try Repository.blobID(of: bytes) == item.id
    }
}
