import CGPGME
import Glibc
import Synchronization
import System
import SystemPackage

/// What `GnuPG.resolve` was asked.
struct RecipientQuestion: Hashable {
    let line: String
    /// Whether what gpg-agent has of the keys counts.
    let asksAgent: Bool
}

extension GnuPG {
    /// Finds the keys that a recipient line means.
    ///
    /// As gpg does with `-r`: the name of a group gives its members (one level deep); a key id or fingerprint may be
    /// that of a subkey. Unlike gpg, which takes whatever comes first or is newest in the keyring, a name that fits
    /// several usable keys is `ambiguousKey`; of keys with the same address the one counts whose user id gpg holds for
    /// more valid than that of every other. Anybody can make a key with any address.
    ///
    /// Answers are remembered while the files of the home stay as they are; that there is no such key is one.
    func resolve(_ line: String, askingAgent: Bool) throws(OpenPGPError) -> [Recipient] {
        let question = RecipientQuestion(line: line, asksAgent: askingAgent)
        let identity = HomeIdentity(identityPaths)
        let now = Int64(time(nil))
        if let known = resolved.withLock({ $0.answer(question, home: identity, now: now) }) {
            return try known.get()
        }
        var expiries: [Int64] = []
        let names = try groups(identity, now)[line.lowercased()] ?? [line]
        // Not remembered: a flood of these would drive out what was learned of others.
        for name in names { try checkIsBorne(name, identity, now) }
        let answer: Result<[Recipient], OpenPGPError>
        do throws(OpenPGPError) {
            var recipients: [Recipient] = []
            for name in names {
                recipients.append(
                    try resolveOne(name, askingAgent: askingAgent, identity, now, &expiries))
            }
            answer = .success(recipients)
        } catch {
            guard error.code == .missingKey else { throw error }
            noteMissing(identity)
            answer = .failure(error)
        }
        resolved.withLock {
            $0.remember(answer, for: question, home: identity, now: now, expiries: expiries)
        }
        return try answer.get()
    }

    /// Once many names had no key, all keys are listed, and a name that none of them bears is known without gpg.
    private func checkIsBorne(
        _ name: String, _ identity: HomeIdentity, _ now: Int64
    ) throws(OpenPGPError) {
        guard missing.withLock({ $0.home == identity && $0.count > 20 }) else { return }
        let names = try borneNames(identity, now)
        if !names.mayHold(RecipientName(name)) { throw missingKey(name, identity, now) }
    }

    private func borneNames(_ identity: HomeIdentity, _ now: Int64) throws(OpenPGPError) -> BorneNames {
        if let known = borne.withLock({ $0.answer("", home: identity, now: now) }) { return known }
        let names = BorneNames(try keys(matching: [], secretOnly: false, askingAgent: false))
        borne.withLock { $0.remember(names, for: "", home: identity, now: now) }
        return names
    }

    private func noteMissing(_ identity: HomeIdentity) {
        missing.withLock {
            if $0.home != identity { $0 = (identity, 0) }
            $0.count += 1
        }
    }

    /// Where the home has no key at all, that is why, and is said.
    private func missingKey(_ name: String, _ identity: HomeIdentity, _ now: Int64) -> OpenPGPError {
        let lack = lack(identity, now).map { " (\($0))" } ?? ""
        return OpenPGPError(.missingKey, "there is no key for \(name) in the keyring\(lack)", subject: name)
    }

    /// What is wrong with a home that has no key at all, as a sentence; nil where it has one.
    var lack: String? { lack(HomeIdentity(identityPaths), Int64(time(nil))) }

    /// As `lack`.
    private func lack(_ identity: HomeIdentity, _ now: Int64) -> String? {
        let isNamed = homeOption == nil && getenv("GNUPGHOME").map { $0.pointee != 0 } ?? false
        let place =
            isNamed
            ? "\(home), which GNUPGHOME names,"
            : homeOption == nil ? "\(home)" : "\(home), the store's keyring,"
        guard home.targetFacts()?.kind == .directory else { return "\(place) is not there" }
        return (try? borneNames(identity, now))?.isEmpty == true ? "\(place) has no key" : nil
    }

    /// gpg's search finds a part of an address, which in a list means nobody.
    private func partialAddress(_ name: String, _ found: Key) -> OpenPGPError {
        OpenPGPError(
            .missingKey,
            "there is no key for \(name) in the keyring; gpg finds \(found.title) by a part of its address: name the whole "
                + "address, or the fingerprint", subject: name, isAdvice: true)
    }

    private func resolveOne(
        _ named: String, askingAgent: Bool, _ identity: HomeIdentity, _ now: Int64,
        _ expiries: inout [Int64]
    ) throws(OpenPGPError) -> Recipient {
        let kind = RecipientName(named)
        let pattern: String
        switch kind {
        case .hexadecimal(let digits, _): pattern = "0x" + digits
        case .address(let address): pattern = address
        case .other(let text):
            guard !text.isEmpty, !text.contains("\n") else { throw missingKey(named, identity, now) }
            pattern = text
        }
        let listed = try keys(matching: [pattern], secretOnly: false, askingAgent: askingAgent)
        expiries += listed.flatMap { key in key.subkeys.compactMap(\.expires) }
        let found = listed.filter { Self.answers($0, to: kind) }
        guard let first = found.first else {
            if case .address = kind, let other = listed.first(where: { !$0.isRevoked && !$0.userIDs.isEmpty })
            {
                throw partialAddress(named, other)
            }
            throw missingKey(named, identity, now)
        }
        let subkey = Self.exactSubkey(kind, of: found)
        func recipient(_ key: Key) -> Recipient { Recipient(key: key, subkey: subkey, named: named) }
        let usable = found.filter { recipient($0).encryptionState(at: now) == .usable }
        if usable.count > 1 {
            if case .address(let address) = kind, let best = Self.mostValid(of: usable, for: address) {
                return recipient(best)
            }
            let titles = usable.map(\.title).joined(separator: ", ")
            throw OpenPGPError(
                .ambiguousKey, "\(named) matches several keys; name one by its fingerprint: \(titles)",
                subject: named)
        }
        return recipient(usable.first ?? first)
    }

    /// gpg's search is wider than what a line may mean.
    private static func answers(_ key: Key, to kind: RecipientName) -> Bool {
        switch kind {
        case .hexadecimal(let digits, _):
            // A 32 digit fingerprint is of a version 3 key, which cannot be used any more.
            digits.count != 32 && key.subkeys.contains { $0.fingerprint.description.hasSuffix(digits) }
        case .address(let address):
            // The user ids of a revoked key are revoked; the line means it all the same, and saying so helps.
            key.userIDs.contains { isSound($0, address) || key.isRevoked && $0.email.lowercased() == address }
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

    /// The key whose user id with the address gpg holds for more valid than that of every other; nil when there is none.
    private static func mostValid(of keys: [Key], for address: String) -> Key? {
        func validity(_ key: Key) -> Trust {
            let best = key.userIDs.filter { isSound($0, address) }.map(\.validity).max() ?? .unknown
            // That gpg knows a reason against one is no reason for it.
            return best >= .marginal ? best : .unknown
        }
        guard let highest = keys.map(validity).max() else { return nil }
        let best = keys.filter { validity($0) == highest }
        return best.count == 1 ? best[0] : nil
    }

    private func groups(_ identity: HomeIdentity, _ now: Int64) throws(OpenPGPError) -> [String: [String]] {
        if let known = groups.withLock({ $0.answer("", home: identity, now: now) }) { return known }
        let found = try listGroups()
        groups.withLock { $0.remember(found, for: "", home: identity, now: now) }
        return found
    }
}
