import Glibc
import OpenPGP
import Synchronization
import SystemPackage
import TestKit

/// A home with the keys that all tests of the mount share: making keys is what costs time. It goes when the process ends.
struct MountKeys: Sendable {
    let home: TestHome
    /// Who reads the stores.
    let ann: TestKey
    let bob: TestKey
    let expired: TestKey
    let revoked: TestKey
    /// Its passphrase is known to nobody here: what would need it fails.
    let locked: TestKey
    let engine: OpenPGPEngine

    static let shared = Result { try MountKeys() }

    private static let open = Mutex<TestHome?>(nil)

    private init() throws {
        home = try TestHome()
        Self.open.withLock { [home] in $0 = home }
        atexit { MountKeys.open.withLock { try? $0?.close() } }
        // What asks for a passphrase fails at once.
        try home.configureAgent("pinentry-program /bin/false\nallow-loopback-pinentry\n")
        ann = try home.makeKey("ann@example.org")
        bob = try home.makeKey("bob@example.org")
        expired = try home.makeExpiredKey("old@example.org")
        revoked = try home.makeRevokedKey("gone@example.org")
        locked = try home.makeKey("locked@example.org", passphrase: "unknown")
        try home.succeed(["gpgconf", "--kill", "gpg-agent"])
        engine = OpenPGPEngine(home: home.path("gnupg"))
    }
}
