import OpenPGP
import Synchronization
import SystemPackage

/// Secrets that are for somebody whom only a change adds that is being taken back: saved to its list, or copied, while it
/// was interrupted.
extension Reencryption {
    private struct Stray {
        var secret: FilePath
        var content: ContentIdentity
        var list: RecipientList
        /// Whom it is to be for.
        var targets: [Recipient]
    }

    /// Encrypts them again to the lists that are in force, until there is none.
    func encryptAgain(
        _ undone: inout Undone, skipsUnreadable: Bool,
        isCommitted: ([FilePath]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard journal.folder != nil,
            let added = try notes.read(AddedReaders.name).flatMap({ AddedReaders($0) }), !added.keyIDs.isEmpty
        else { return }
        var failures: [FilePath: StoreError] = [:]
        // Others may be saving meanwhile.
        for _ in 0..<8 {
            let found = try strays(added, &failures).filter { failures[$0.secret] == nil }
            if found.isEmpty { break }
            for stray in found {
                do throws(StoreError) {
                    let wasCommitted = try isCommitted([stray.secret])
                    try encryptAgain(stray)
                    undone.again.append(stray.secret)
                    if wasCommitted { undone.committed.append(stray.secret) }
                } catch {
                    failures[stray.secret] = error
                }
            }
            try synchronizeFolders(of: found.map(\.secret))
        }
        let failed = failures.keys.sorted { $0.string < $1.string }
        guard let first = failed.first, let reason = failures[first] else { return }
        guard skipsUnreadable else { throw notTakenBack(failed, reason) }
        undone.left = failed
    }

    private func encryptAgain(_ stray: Stray) throws(StoreError) {
        try store.checkAgreed(stray.list, for: stray.secret)
        guard !stray.targets.isEmpty, try store.unreadable([stray.secret]).isEmpty else {
            throw StoreError(
                .openPGP(.noSecretKey), "no secret key here decrypts \(stray.secret.string).")
        }
        let index = try append([PlannedSecret(path: stray.secret, content: stray.content)])
        try place(index, stray.targets)
        if let error = state.withLock({ $0.unreadable.removeValue(forKey: stray.secret) }) { throw error }
    }

    /// - Parameter failures: gets those whose lists cannot be used.
    private func strays(
        _ added: AddedReaders, _ failures: inout [FilePath: StoreError]
    ) throws(StoreError) -> [Stray] {
        var lists: [FilePath: Result<RecipientList, StoreError>] = [:]
        var found: [Stray] = []
        for secret in try store.secrets(below: FilePath(), nested: true) {
            // What is no message is for nobody.
            guard let ids = try? store.recipientKeyIDs(of: secret), added.concerns(ids),
                let content = try? store.contentIdentity(of: secret)
            else { continue }
            if added.before.contains(content.text) { continue }
            let folder = secret.removingLastComponent()
            if lists[folder] == nil {
                do throws(StoreError) {
                    lists[folder] = .success(try store.list(for: secret))
                } catch {
                    lists[folder] = .failure(error)
                }
            }
            switch lists[folder] {
            case nil: continue
            case .failure(let error)?: if added.isStray(ids, allowed: []) { failures[secret] = error }
            case .success(let list)?:
                let isHidden = ids.contains(0)
                var isStray = added.isStray(ids, allowed: list.recipients)
                if isHidden { isStray = try store.match(secret, list.recipients) == .different }
                guard isStray else { continue }
                var targets = list.recipients
                // What others brought gets no reader that it did not have.
                if !isHidden, try brought.include(secret, content) ?? true {
                    targets = targets.filter { $0.key.subkeys.contains { ids.contains($0.keyID) } }
                }
                found.append(Stray(secret: secret, content: content, list: list, targets: targets))
            }
        }
        return found
    }

    private func notTakenBack(_ secrets: [FilePath], _ reason: StoreError) -> StoreError {
        let names = secrets.prefix(5).map(\.string).joined(separator: ", ")
        let more = secrets.count > 5 ? " and \(secrets.count - 5) more" : ""
        let (them, are) = secrets.count == 1 ? ("it", "is") : ("them", "are")
        return StoreError(
            .unreadableSecrets(secrets),
            "the change is undone, but \(names)\(more) \(are) still encrypted to the keys it added, and not "
                + "committed, because \(reason.message.hasSuffix(".") ? String(reason.message.dropLast()) : reason.message): fix that, or "
                + "remove \(them) or restore \(them) with git, and run passdir recipients abort \(ShellWord.quoted(store.name)) again; "
                + "passdir recipients abort \(ShellWord.quoted(store.name)) --skip-unreadable leaves \(them) as "
                + "\(them == "it" ? "it is" : "they are")."
        )
    }
}
