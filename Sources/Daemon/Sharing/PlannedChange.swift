public import OpenPGP
public import Stores
public import SystemPackage

/// A change that is worked out and can be made.
public struct PlannedChange: Sendable {
    /// The place that changes: `STORE/FOLDER`.
    public var place: String
    /// What it means.
    public var change: RecipientChange
    /// Whether the folder's own `.gpg-id` goes, once what is below is for whom the list above names.
    public let removesList: Bool
    /// The keys that the user named, by their fingerprints.
    let named: Set<Fingerprint>
    let store: Store

    /// The keys that the user named and that are in the list already by somebody else's doing: the change is the agreement
    /// to them.
    public var awaited: [Recipient] {
        let isThere = Set(change.before.map(\.key.fingerprint))
        return change.unagreed.map(\.recipient).filter {
            named.contains($0.key.fingerprint) && isThere.contains($0.key.fingerprint)
        }
    }

    /// Why it is not known whom you agreed to, as a sentence; nil where it is.
    public var lostAgreement: String? { store.lostAgreement }

    /// Whether git may keep what the secrets were.
    public var hasHistory: Bool {
        store.isInAnyRepository(change.folder.appending(Store.recipientFileName))
            || store.repositories.outer != nil
    }

    /// Whether there is nothing to do, and nothing to agree to.
    public var isEmpty: Bool {
        change.isEmpty && change.unagreed.isEmpty && !change.isLossUnagreed && !removesList
    }

    /// The keys that would be encrypted to although nobody here named or agreed to them: somebody else brought them.
    public var foreign: [Recipient] {
        change.unagreed.map(\.recipient).filter { !named.contains($0.key.fingerprint) }
    }
}

/// What the user has agreed to of a change, besides the keys that were named.
public struct ChangeConsent: Sendable {
    /// Keys that somebody else brought, by their fingerprints.
    public var foreign: Set<Fingerprint>
    /// To read nothing of it any more.
    public var isLockedOut: Bool

    /// A consent of its parts.
    public init(foreign: Set<Fingerprint> = [], isLockedOut: Bool = false) {
        self.foreign = foreign
        self.isLockedOut = isLockedOut
    }
}

/// What a change of recipients, once made, has not touched.
public struct ChangeOutcome: Sendable {
    /// The place that was changed: `STORE/FOLDER`.
    public var place: String
    /// Secrets that cannot be decrypted here.
    public var skipped: [FilePath] = []
    /// Secrets that came from others after the user was asked.
    public var left: [FilePath] = []
}

/// A change that was interrupted, and what is left of it.
public struct InterruptedChange: Sendable {
    /// The place that changes: `STORE/FOLDER`.
    public var place: String
    /// What is left to be done.
    public var rest: Reencryption.Rest
    let work: Reencryption
    let store: Store
}
