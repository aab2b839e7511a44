import CGPGME
import Glibc
import Synchronization
import SystemPackage

extension GnuPG {
    /// Finds the keys that a recipient line means.
    ///
    /// As gpg does with `-r`: the name of a group gives its members (one level deep); a key id or fingerprint may be
    /// that of a subkey; of several keys with the same address the one with the more valid user id counts, then the
    /// one with the newer subkey for encryption. Unlike gpg, which takes whatever comes first in the keyring, other
    /// names that fit several usable keys are `ambiguousKey`.
    ///
    /// Answers are remembered while the files of the home stay as they are.
    public func resolve(_ line: String) throws(OpenPGPError) -> [Recipient] {
        let identity = HomeIdentity(of: home)
        let now = Int64(time(nil))
        if let known = resolved.withLock({ $0.answer(line, home: identity, now: now) }) { return known }
        var expiries: [Int64] = []
        var recipients: [Recipient] = []
        if let members = try groups(identity)[line.lowercased()] {
            for member in members {
                recipients.append(try resolveOne(member, named: member, now, &expiries))
            }
        } else {
            recipients.append(try resolveOne(line, named: line, now, &expiries))
        }
        let answer = ResolvedLines.Answer(recipients: recipients, until: expiries.filter { $0 > now }.min())
        resolved.withLock { $0.remember(answer, for: line, home: identity) }
        return recipients
    }

    private func resolveOne(
        _ name: String, named: String, _ now: Int64, _ expiries: inout [Int64]
    ) throws(OpenPGPError) -> Recipient {
        let kind = RecipientName(name)
        let missing = OpenPGPError(.missingKey, "there is no key for \(named) in the keyring", subject: named)
        let pattern: String
        switch kind {
        case .hexadecimal(let digits, _): pattern = "0x" + digits
        case .address(let address): pattern = "<\(address)>"
        case .other(let text):
            // gpg would read a line beginning so as something else than a name.
            guard !text.isEmpty, !text.contains("\n") else { throw missing }
            pattern = text
        }
        let found = try keys(matching: [pattern], secretOnly: false).filter { Self.answers($0, to: kind) }
        expiries += found.flatMap { key in key.subkeys.compactMap(\.expires) }
        guard let first = found.first else { throw missing }
        let subkey = Self.exactSubkey(kind, of: found)
        let recipients = found.map { Recipient(key: $0, subkey: subkey, named: named) }
        let usable = recipients.filter { $0.encryptionState(at: now) == .usable }
        if usable.count > 1 {
            if case .address(let address) = kind { return Self.best(usable, for: address) }
            let titles = usable.map(\.key.title).joined(separator: ", ")
            throw OpenPGPError(.ambiguousKey, "\(named) fits several keys: \(titles)", subject: named)
        }
        return usable.first ?? Recipient(key: first, subkey: subkey, named: named)
    }

    /// gpg's search is wider than what a line may mean.
    private static func answers(_ key: Key, to kind: RecipientName) -> Bool {
        switch kind {
        case .hexadecimal(let digits, _):
            // A 32 digit fingerprint is of a version 3 key, which cannot be used any more.
            digits.count != 32 && key.subkeys.contains { $0.fingerprint.description.hasSuffix(digits) }
        case .address(let address): key.userIDs.contains { isSound($0, address) }
        case .other: true
        }
    }

    private static func isSound(_ userID: UserID, _ address: String) -> Bool {
        !userID.isRevoked && !userID.isInvalid && userID.email.lowercased() == address
    }

    private static func exactSubkey(_ kind: RecipientName, of keys: [Key]) -> Fingerprint? {
        guard case .hexadecimal(let digits, exact: true) = kind else { return nil }
        return keys.lazy.flatMap(\.subkeys).map(\.fingerprint).first { $0.description.hasSuffix(digits) }
    }

    /// gpg's `pubkey_cmp`; a tie goes to the first.
    private static func best(_ candidates: [Recipient], for address: String) -> Recipient {
        func rank(_ recipient: Recipient) -> (Int, Int64) {
            let validity = recipient.key.userIDs.filter { isSound($0, address) }.map(\.validity.rawValue)
                .max()
            let made = recipient.key.subkeys.filter { $0.canEncrypt && !$0.isRevoked && !$0.isInvalid }.map(
                \.created)
            return (validity ?? 0, made.max() ?? 0)
        }
        return candidates.dropFirst().reduce(candidates[0]) { best, next in
            rank(next) > rank(best) ? next : best
        }
    }

    /// The groups of gpg.conf, by their names in lower case.
    private func groups(_ identity: HomeIdentity) throws(OpenPGPError) -> [String: [String]] {
        let known = resolved.withLock { $0.home == identity ? $0.groups : nil }
        if let known { return known }
        let groups = try listGroups()
        resolved.withLock { $0.remember(groups: groups, home: identity) }
        return groups
    }
}
