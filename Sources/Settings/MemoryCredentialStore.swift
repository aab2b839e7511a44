public import OpenPGP
import Synchronization

/// Credentials in memory, gone with the process: for tests.
public final class MemoryCredentialStore: CredentialStore {
    private let kept = Mutex<[CredentialKey: (secret: SecretBytes, expires: Int64?)]>([:])

    /// An empty place.
    public init() {}

    /// "memory".
    public var place: String { "memory" }
    /// Always.
    public var isAvailable: Bool { true }

    /// As the protocol says; never fails.
    public func save(_ secret: SecretBytes, as key: CredentialKey, expires: Int64?) {
        kept.withLock { $0[key] = (secret, expires) }
    }

    /// As the protocol says; never fails.
    public func load(_ key: CredentialKey) -> SecretBytes? {
        kept.withLock { $0[key]?.secret }
    }

    /// As the protocol says; never fails.
    public func delete(_ key: CredentialKey) {
        kept.withLock { $0[key] = nil }
    }

    /// As the protocol says; never fails.
    public func entries() -> [CredentialKey: CredentialFacts] {
        kept.withLock { kept in
            kept.mapValues { CredentialFacts(place: "memory", expires: $0.expires) }
        }
    }
}
