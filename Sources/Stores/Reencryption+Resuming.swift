public import OpenPGP
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
        guard let folder = journal.folder, let after = try newRecipients() else {
            return Rest(folder: nil, added: [], removed: [], secrets: journal.secrets.count)
        }
        let place = folder.appending(Store.recipientFileName)
        let old = try notes.read(ChangeJournal.oldFile)
        if journal.phase != .committing, journal.phase != .finished {
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
        func keys(_ some: [Recipient], without others: [Recipient]) -> [Recipient] {
            some.filter { one in !others.contains { $0.key.fingerprint == one.key.fingerprint } }
        }
        return Rest(
            folder: folder, added: keys(after, without: before), removed: keys(before, without: after),
            secrets: journal.secrets.count)
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
            "\(place.string) of the store \"\(store.name)\" was changed by somebody else "
                + "meanwhile: take this change back with passdir recipients abort, then look at it.")
    }
}
