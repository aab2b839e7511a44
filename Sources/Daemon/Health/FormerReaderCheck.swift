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
        let places = Dictionary(grouping: (present ?? [:]).sorted { $0.key.string < $1.key.string }) {
            $0.value
        }
        .mapValues { $0.map(\.key) }
        // Several lost the same secrets at once.
        var known: [FormerReader.Secret: Finding] = [:]
        for reader in list.readers.indices {
            // Each place counts once, whatever else holds the same password.
            var taken = Set(list.readers[reader].secrets.filter { !$0.isChanged }.map(\.path))
            var copies: [FormerReader.Secret] = []
            for index in list.readers[reader].secrets.indices {
                let secret = list.readers[reader].secrets[index]
                guard !secret.isChanged, cancellation?.isCancelled != true else { continue }
                let now = known[secret] ?? finding(secret)
                known[secret] = now
                var found = secret
                switch now {
                case .same(let content): found.content = content
                case .elsewhere(let mark):
                    let place = places[mark]?.first { !taken.contains($0.string) }
                    found.isChanged = place == nil
                    if let place { found.move(to: place, in: store) }
                    taken.insert(found.path)
                case .changed: found.isChanged = true
                case .unknown: continue
                }
                list.readers[reader].secrets[index] = found
                guard !found.isChanged, let mark = present?[FilePath(found.path)] else { continue }
                for place in places[mark] ?? [] where taken.insert(place.string).inserted {
                    var copy = found
                    copy.move(to: place, in: store)
                    copies.append(copy)
                }
            }
            // Who knows a password knows its copies.
            list.readers[reader].secrets += copies
        }
        list.readers.removeAll { $0.secrets.allSatisfy(\.isChanged) }
    }

    /// What became of a secret since somebody lost it.
    private enum Finding {
        /// It has the password from then, in this ciphertext.
        case same(content: String)
        /// It has another one, or is gone; the one from then, of this mark, lies under another name.
        case elsewhere(PasswordMarks.Mark)
        case changed
        /// Nothing was decrypted that would tell.
        case unknown
    }

    private func finding(_ secret: FormerReader.Secret) -> Finding {
        let file = FilePath(secret.path)
        let content = store.contentID(of: file)
        if content == secret.content { return .same(content: secret.content) }
        guard let present else { return .unknown }
        guard let old = text(of: secret) else {
            // Neither git nor anything else has the text from then.
            return content == nil || (ages.saved(file) ?? 0) > secret.since ? .changed : .unknown
        }
        guard let old = try? old.get(), let mark = try? HealthLook.wholeMark(of: old, marks) else {
            return .unknown
        }
        if present[file] == mark { return .same(content: content ?? secret.content) }
        if present.values.contains(mark) { return .elsewhere(mark) }
        // One that was not looked at may have any password.
        return content == nil || present[file] != nil ? .changed : .unknown
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

extension FormerReader.Secret {
    /// The same password, under another name.
    fileprivate mutating func move(to place: FilePath, in store: Store) {
        path = place.string
        content = store.contentID(of: place) ?? content
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
