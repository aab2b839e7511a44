public import OpenPGP
import Synchronization
import SystemPackage

extension Reencryption {
    /// What is left to be done of a change that was interrupted.
    public struct Rest: Sendable {
        /// The folder whose recipients change, relative to the store; nil where secrets follow the `.gpg-id` files.
        public var folder: FilePath?
        /// Who will be able to read it and was not before.
        public var added: [Recipient]
        /// Who was, and will not be.
        public var removed: [Recipient]
        /// How many secrets the change is of.
        public var secrets: Int
    }

    /// Works out what resuming means, and looks again at what was looked at when the change began: that the new
    /// `.gpg-id` is signed where that is asked for, that all of its keys were agreed to, and that nobody has changed the
    /// file meanwhile.
    public func rest() throws(StoreError) -> Rest {
        if journal.phase == .aborting { throw beingTakenBack }
        guard let folder = journal.folder, let after = try newRecipients() else {
            return Rest(folder: nil, added: [], removed: [], secrets: journal.planned.count)
        }
        let place = folder.appending(Store.recipientFileName)
        let old = try notes.read(ChangeJournal.oldFile)
        if journal.phase != .finished {
            try checkUnchanged(place)
            try store.verifySignature(
                try notes.read(ChangeJournal.newSignature), of: try notes.read(ChangeJournal.newFile) ?? [],
                folder.appending(Store.signatureFileName))
        }
        let accepted = Set(journal.accepted)
        let unagreed = store.unagreed(after, in: place, for: journal.secrets).first {
            !accepted.contains($0.key.fingerprint.description)
        }
        if let unagreed { throw store.unconfirmed(unagreed, in: place) }
        let before = try old.map(readers) ?? (try? store.list(for: place))?.recipients ?? []
        return Rest(
            folder: folder, added: after.without(before), removed: before.without(after),
            secrets: journal.planned.count)
    }

    /// Why a change cannot be resumed that is being taken back.
    var beingTakenBack: StoreError { StoreError(.changeUnderWay, Self.beingTakenBack(store.name)) }

    private static func beingTakenBack(_ store: String) -> String {
        "the change of recipients of the store \"\(store)\" is being undone, and some secrets are still "
            + "encrypted to the keys it added and are not committed: run passdir recipients abort \(store)."
    }

    /// A sentence about a change that is taken back but for some secrets; nil when there is none. Looks at this machine's
    /// own state only.
    public static func unfinishedAbort(in store: Store) -> String? {
        ChangeNotes.look(at: store)?.journal.phase == .aborting ? beingTakenBack(store.name) : nil
    }

    /// Goes back to placing where a change was interrupted after it: `git checkout`, `git stash` and others may have put
    /// back what lay there before. That is what the user was asked about, and no news from others.
    func resumePlacing() throws(StoreError) {
        var putBack: [(index: Int, name: StagedName, content: ContentIdentity)] = []
        let (secrets, staged) = state.withLock { ($0.journal.secrets, $0.staged) }
        for (index, name) in staged where index < secrets.count {
            do {
                guard let held = try? identity(name.path), held == name.old,
                    let now = try store.root.statusIfPresent(of: secrets[index])
                else { continue }
                let content = ContentIdentity(now.identity)
                guard content != name.new, content.size == held.size,
                    try store.read(name.path, limit: store.options.ciphertextLimit)
                        == store.read(secrets[index], limit: store.options.ciphertextLimit)
                else { continue }
                putBack.append((index, name, content))
            } catch {
                throw StoreError(error, "stat", secrets[index])
            }
        }
        let found = putBack
        state.withLock { state in
            for one in found { state.journal.planned[one.index].content = one.content }
        }
        if journal.phase == .committing || !found.isEmpty { try enter(.placing) }
        for one in found {
            try StoreError.wrapping("remove", one.name.path) { try store.root.unlink(one.name.path) }
            state.withLock { $0.staged[one.index] = nil }
        }
    }

    /// Those of whom a `.gpg-id` names that are known here.
    private func readers(_ bytes: [UInt8]) throws(StoreError) -> [Recipient] {
        (RecipientFile(parsing: bytes)?.lines ?? []).flatMap { (try? store.resolve([$0])) ?? [] }
    }

    /// Refuses to go on where the `.gpg-id` is neither the one from before the change nor the new one, or where there was
    /// none and that of a folder above is another one by now.
    func checkUnchanged(_ place: FilePath) throws(StoreError) {
        let now = try store.readIfPresent(place)
        if try now == notes.read(ChangeJournal.newFile) { return }
        if let now {
            if try now == notes.read(ChangeJournal.oldFile) { return }
        } else if journal.applied != place {
            let applied = try store.appliedList(of: place.removingLastComponent())
            let bytes = try notes.read(ChangeJournal.appliedFile)
            if applied.file == journal.applied, applied.bytes == bytes { return }
        }
        throw StoreError(
            .badRecipientFile,
            "\(place.string) of the store \"\(store.name)\" was changed by someone else in the meantime: undo "
                + "this change with passdir recipients abort, then look at it.")
    }
}
