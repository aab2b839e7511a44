import Glibc
public import Settings
public import Stores
import System

/// A credential that is kept for a store's remote, without its value.
///
/// Keys are always present; what is absent is null.
public struct CredentialReport: Codable, Sendable, Equatable {
    /// The store's name.
    public var store: String
    /// `password` or `ssh-passphrase`.
    public var kind: String
    /// Where it is kept: `Secret Service` or `encrypted file`.
    public var place: String
    /// When it was kept; nil where the place does not know.
    public var made: Timestamp?
    /// The last day on which the server takes it, `YYYY-MM-DD`; nil where nothing is known of that.
    public var expires: String?

    /// How long before its end a credential is warned of, in seconds.
    private static let notice: Int64 = 14 * 86400

    /// The credentials of some stores, store by store.
    public static func all(
        of stores: [StoreDefinition], in credentials: any CredentialStore
    ) throws(CredentialError) -> [CredentialReport] {
        let kept = try credentials.entries()
        return stores.flatMap { store in
            CredentialKind.allCases.compactMap { kind in
                guard let id = store.id, let facts = kept[CredentialKey(store: id, kind: kind)] else {
                    return nil
                }
                return CredentialReport(
                    store: store.name, kind: kind.rawValue, place: facts.place,
                    made: facts.made.map(Timestamp.init(seconds:)),
                    expires: facts.expires.map { CalendarDay(containing: $0 - 1).description })
            }
        }
    }

    /// What is to be said of a credential that has expired, or will within 14 days, as a sentence without a full stop; nil
    /// where nothing is.
    public var warning: String? {
        guard let expires, let end = CalendarDay(expires)?.end else { return nil }
        let now = Int64(time(nil))
        guard end - now < Self.notice else { return nil }
        return "the \(kind) of \"\(store)\" \(end <= now ? "expired" : "expires") on \(expires): "
            + "passdir credential set \(ShellWord.quoted(store)) stores a new one"
    }

    /// Writes every key, null where there is no value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(kind, forKey: .kind)
        try container.encode(place, forKey: .place)
        try container.encode(made, forKey: .made)
        try container.encode(expires, forKey: .expires)
    }
}
