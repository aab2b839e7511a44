import OpenPGP
import SystemPackage

/// Whom the secrets of a change are for.
extension Reencryption {
    /// Whom a secret of the change is for when the change is made.
    func recipients(
        for secret: FilePath, _ planned: PlannedSecret, _ new: [Recipient]?
    ) throws(StoreError) -> [Recipient] {
        if let new { return new }
        let list = try store.list(for: secret)
        try store.checkAgreed(list, for: secret)
        let shown = Set(planned.readers)
        guard list.recipients.allSatisfy({ shown.contains($0.key.fingerprint.description) }) else {
            throw StoreError(
                .unstable,
                "the recipients of \(secret.string) have changed in the meantime: undo this change with passdir "
                    + "recipients abort \(ShellWord.quoted(store.name)), then look at them again.")
        }
        return list.recipients
    }

    /// The recipients of the new `.gpg-id`; nil where none changes.
    func newRecipients() throws(StoreError) -> [Recipient]? {
        guard journal.folder != nil else { return nil }
        guard let bytes = try notes.read(ChangeJournal.newFile), let file = RecipientFile(parsing: bytes)
        else {
            throw StoreError(
                .system(.ioError), "the change of recipients has lost its new .gpg-id: abort it.")
        }
        return try store.usableRecipients(file.lines)
    }
}
