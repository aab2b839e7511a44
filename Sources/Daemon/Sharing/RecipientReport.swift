/// A recipient as people know it.
public struct RecipientReport: Codable, Sendable, Equatable {
    /// What `.gpg-id` says.
    public var line: String
    /// The key's fingerprint; nil where the line means no key of this keyring.
    public var fingerprint: String?
    /// `Ann <ann@example.org>`.
    public var userID: String?
    /// Whether its secret key is here.
    public var isOwn: Bool
    /// Whether others have added it and you have not approved that: nothing is encrypted by the list before you do.
    public var isUnapproved: Bool
    /// Why nothing can be encrypted to it, or the line means no key; nil where all is well.
    public var problem: String?
}

/// Who can read what lies in a folder, and which file says so.
public struct RecipientsReport: Codable, Sendable, Equatable {
    /// `STORE/FOLDER`.
    public var place: String
    /// The `.gpg-id` that applies, relative to the store; nil when PASSWORD_STORE_KEY overrides it.
    public var file: String?
    /// Who the recipients are.
    public var recipients: [RecipientReport]
}

/// How recipients are to change.
public enum RecipientEdit: Sendable {
    /// These, too.
    case add([String])
    /// These no longer.
    case remove([String])
    /// Just these.
    case set([String])
    /// Just these, whom others may have listed: nobody here has named them.
    case take([String])
    /// Those of the folder above, whose `.gpg-id` takes the place of the folder's own.
    case inherit
}
