import Contents
import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// Finds out which secrets of a store former readers still know: those whose password is the one from when they lost them, by
/// whatever name and for whomever it is encrypted now. A text without a password counts as a whole.
struct FormerReaderCheck {
    let store: Store
    /// Nil where the store has none: then a later save counts for a change.
    let history: StoreHistory?
    let ages: PasswordAge
    /// The mark of what each secret holds now; nil where nothing was decrypted, so that nothing is taken for changed.
    let present: [FilePath: PasswordMarks.Mark]?
    let marks: PasswordMarks
    let budget: PromptBudget
    let cancellation: Cancellation?

    /// Brings the list up to date: what was changed is marked, and who knows nothing any more is left out.
    func review(_ list: inout FormerReaderList) {
        let places = Dictionary(
            (present ?? [:]).map { ($0.value, $0.key) }, uniquingKeysWith: { $0.string < $1.string ? $0 : $1 }
        )
        // Several lost the same secrets at once.
        var known: [FormerReader.Secret: FormerReader.Secret] = [:]
        for reader in list.readers.indices {
            for index in list.readers[reader].secrets.indices {
                let secret = list.readers[reader].secrets[index]
                guard !secret.isChanged, cancellation?.isCancelled != true else { continue }
                let now = known[secret] ?? reviewed(secret, places)
                known[secret] = now
                list.readers[reader].secrets[index] = now
            }
        }
        list.readers.removeAll { $0.secrets.allSatisfy(\.isChanged) }
    }

    private func reviewed(
        _ secret: FormerReader.Secret, _ places: [PasswordMarks.Mark: FilePath]
    ) -> FormerReader.Secret {
        var secret = secret
        let file = FilePath(secret.path)
        let content = store.contentID(of: file)
        guard content != secret.content, let present else { return secret }
        guard let old = text(of: secret) else {
            // Neither git nor anything else has the text from then.
            secret.isChanged = content == nil || (ages.saved(file) ?? 0) > secret.since
            return secret
        }
        guard let old = try? old.get(), let mark = try? HealthLook.wholeMark(of: old, marks) else {
            return secret
        }
        if present[file] == mark {
            secret.content = content ?? secret.content
        } else if let place = places[mark] {
            secret.path = place.string
            secret.content = store.contentID(of: place) ?? secret.content
        } else {
            // One that was not looked at may have any password.
            secret.isChanged = content == nil || present[file] != nil
        }
        return secret
    }

    /// The text from then; nil where git does not have it, a failure where it cannot be decrypted.
    private func text(of secret: FormerReader.Secret) -> Result<SecretBytes, DaemonError>? {
        guard let history, history.holds(secret.content) else { return nil }
        do throws(DaemonError) {
            return .success(
                try budget.read { (mayAsk) throws(StoreError) in
                    try history.plaintext(
                        ofContent: secret.content, mayAsk: mayAsk, cancellation: cancellation)
                })
        } catch {
            return .failure(error)
        }
    }
}

extension HealthReport {
    /// Somebody who could read secrets until a change of recipients.
    public struct FormerReader: Sendable {
        /// The store's name.
        public let store: String
        /// The fingerprint or id of the key.
        public let key: String
        /// The user id of the key; empty where it is not known.
        public let name: String
        /// When they lost the last of them, in seconds since 1970.
        public let removed: Int64
        /// What they could read and still know, as STORE/PATH.
        public let exposed: [String]
        /// What was changed since, or is gone.
        public let rotated: [String]

        /// How people call them.
        public var title: String { name.isEmpty ? "the key \(key)" : name }
    }
}
