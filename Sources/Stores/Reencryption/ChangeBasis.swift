public import SystemPackage

/// What a change of recipients was worked out from and what was shown of it. It is made only while that is so.
struct ChangeBasis: Sendable, Equatable {
    /// The `.gpg-id` that applied.
    var list: AppliedList
    /// All secrets of the folder, and which ciphertexts they were.
    var contents: [FilePath: ContentIdentity]
}

/// The `.gpg-id` that applies to a folder, its own or one above it, byte for byte.
public struct AppliedList: Sendable, Equatable {
    /// Where it lies, relative to the store; nil when there is none.
    var file: FilePath?
    var bytes: [UInt8]?
    var signature: [UInt8]?

    /// Whether a text that was made from `earlier` would undo what somebody else did to the list since: this is another
    /// list, and not that text already.
    public func hasOvertaken(_ text: [UInt8], madeFrom earlier: AppliedList) -> Bool {
        bytes != earlier.bytes && bytes != text
    }
}

extension Store {
    /// The `.gpg-id` that applies to what lies in a folder now.
    public func appliedList(of folder: FilePath) throws(StoreError) -> AppliedList {
        let file: FilePath
        do throws(StoreError) {
            file = try recipientFile(for: folder.appending(Self.recipientFileName))
        } catch {
            guard error.code == .noRecipients else { throw error }
            return AppliedList()
        }
        let signature = file.removingLastComponent().appending(Self.signatureFileName)
        do {
            return AppliedList(
                file: file, bytes: try readIfPresent(file), signature: try readIfPresent(signature))
        } catch {
            // A link or a folder of that name: what is refused elsewhere is replaced by a list that can be read.
            return AppliedList(file: file)
        }
    }

    /// The secrets of a folder, and which ciphertexts they are now. One that goes away meanwhile is none.
    func contents(below folder: FilePath) throws(StoreError) -> [(secret: FilePath, content: ContentIdentity)]
    {
        var found: [(secret: FilePath, content: ContentIdentity)] = []
        for secret in try secrets(below: folder, nested: false) {
            if let content = try contentIdentity(of: secret) { found.append((secret, content)) }
        }
        return found
    }

    /// Which ciphertext a secret is now; nil where it is not there.
    /// Tells one ciphertext of a secret from any other that takes its place; nil where there is none.
    public func stamp(of secret: FilePath) -> String? {
        ((try? contentIdentity(of: secret)) ?? nil).map(\.text)
    }

    func contentIdentity(of secret: FilePath) throws(StoreError) -> ContentIdentity? {
        try StoreError.wrapping("stat", secret) {
            try root.statusIfPresent(of: secret).map { ContentIdentity($0.identity) }
        }
    }

    /// Refuses a change when the list it was worked out from is another one by now, or when git has brought secrets into
    /// its folder since. What was saved here meanwhile is re-encrypted with the others.
    func checkCurrent(_ basis: ChangeBasis, of folder: FilePath) throws(StoreError) {
        let place = folder.isEmpty ? name : "\(name)/\(folder.string)"
        guard try appliedList(of: folder) == basis.list else {
            throw StoreError(
                .unstable,
                "the recipients of \(place) have just changed: look at them again. Nothing was changed.")
        }
        let brought = BroughtSecrets(self)
        let late = try contents(below: folder).picking { (found) throws(StoreError) in
            try hasCome(found.secret, found.content, since: basis, brought)
        }
        guard let first = late.first else { return }
        let more = late.count > 1 ? " and \(late.count - 1) more" : ""
        throw StoreError(
            .unstable,
            "\(first.secret.string)\(more) was just added to \(place) by others: look at the change again. "
                + "Nothing was changed.")
    }

    /// Whether git has brought a secret since. One that a program saves again and again is looked at until it holds still
    /// for long enough; after so many times it counts as brought.
    private func hasCome(
        _ secret: FilePath, _ content: ContentIdentity, since basis: ChangeBasis, _ brought: BroughtSecrets
    ) throws(StoreError) -> Bool {
        var content = content
        for _ in 0..<1000 {
            guard basis.contents[secret] != content else { return false }
            if let isBrought = try brought.include(secret, content) { return isBrought }
            guard let now = try contentIdentity(of: secret) else { return false }
            content = now
        }
        return true
    }
}
