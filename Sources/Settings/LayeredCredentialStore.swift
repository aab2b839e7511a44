import OpenPGP
import System

/// Several places in order: what is saved goes to the first one that can be used, what is loaded comes from the first
/// one that has it.
///
/// A credential that was saved while there was no Secret Service (over SSH, in a console) is found when there is one.
public struct LayeredCredentialStore: CredentialStore {
    private let places: [any CredentialStore]

    /// Places, the preferred one first.
    public init(_ places: [any CredentialStore]) {
        self.places = places
    }

    /// The place that is saved to right now.
    public var place: String { places.first { $0.isAvailable }?.place ?? "none" }
    /// Whether any place can be used.
    public var isAvailable: Bool { places.contains { $0.isAvailable } }

    /// Saves to the first place that can be used; an older one elsewhere is forgotten.
    public func save(_ secret: SecretBytes, as key: CredentialKey, expires: Int64?) throws(CredentialError) {
        var lastError = CredentialError(
            .unavailable,
            "you have neither a Secret Service nor an OpenPGP key to store a credential with")
        for (index, place) in places.enumerated() where place.isAvailable {
            do {
                try place.save(secret, as: key, expires: expires)
            } catch  where error.code == .unavailable {
                lastError = error
                continue
            }
            for other in places.indices where other != index { try? places[other].delete(key) }
            return
        }
        throw lastError
    }

    /// Loads from the first place that has it.
    public func load(_ key: CredentialKey) throws(CredentialError) -> SecretBytes? {
        for place in places where place.isAvailable {
            if let secret = try place.load(key) { return secret }
        }
        return nil
    }

    /// Forgets it everywhere.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
        var failure: CredentialError?
        for place in places where place.isAvailable {
            do throws(CredentialError) { try place.delete(key) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// What all places have.
    public func entries() throws(CredentialError) -> [CredentialKey: CredentialFacts] {
        var all: [CredentialKey: CredentialFacts] = [:]
        for place in places where place.isAvailable {
            all.merge(try place.entries()) { first, _ in first }
        }
        return all
    }

    /// Those of all places.
    public func undeclared() throws(CredentialError) -> [String] {
        var found: [String] = []
        for place in places where place.isAvailable { found += try place.undeclared() }
        return found
    }
}
