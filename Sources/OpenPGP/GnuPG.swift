import CGPGME
import Glibc
import Synchronization
import System
import SystemPackage

/// GnuPG behind gpgme: an operation starts gpg, which asks gpg-agent for what needs a secret key. Only encrypting
/// does without, while the keyring and the configuration stay as they are (see `Direct`).
///
/// Any thread may call; an operation keeps to the thread that called it, with a context of its own. Nothing here
/// starts a look-up on the network, and nothing but GNUPGHOME, HOME and what pinentry needs is read from the
/// environment.
public final class GnuPG: Engine {
    /// The directory with the keyring.
    public let home: FilePath
    /// What gpg is told; nil leaves it to gpg's own rule.
    let homeOption: String?
    /// What a change of the keyring shows in.
    let identityPaths: [String]
    /// How messages are encrypted.
    public let encryption: EncryptionWay
    let gate: Gate
    /// nil where gpg encrypts.
    let direct: DirectEncryption?
    let resolved: Mutex<ResolvedLines>
    let verified: Mutex<VerifiedSignatures>

    /// How long an operation that asks for nothing may take before gpg is thought to hang.
    static let patience = Duration.seconds(60)

    /// Prepares gpgme, once a process, and checks that gpg is there.
    /// - Parameters:
    ///   - home: The directory with the keyring; nil: GNUPGHOME, else `~/.gnupg`.
    ///   - parallelism: How many gpg processes may run at a time. One that has run for a second does not count:
    ///     it waits for a passphrase and must block nobody.
    ///   - encryption: Whether messages may be encrypted without starting gpg.
    ///   - notice: Told, at most once, in a sentence when that fails for a reason that should not be; gpg does it
    ///     then.
    /// - Throws: `noEngine`.
    public init(
        home: FilePath? = nil, parallelism: Int = 4, encryption: EncryptionWay = .direct,
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(OpenPGPError) {
        try Self.engine.get()
        self.home = home ?? Self.defaultHome
        self.encryption = encryption
        direct = encryption == .direct ? DirectEncryption(home: self.home, notice: notice) : nil
        identityPaths = HomeIdentity.paths(in: self.home, direct?.identityPaths ?? [])
        homeOption = home?.string
        gate = Gate(places: parallelism)
        resolved = Mutex(ResolvedLines())
        verified = Mutex(VerifiedSignatures())
    }

    /// Initialises gpgme; the first use decides, and every later one sees the same.
    private static let engine: Result<Void, OpenPGPError> = {
        guard gpgme_check_version("1.18.0") != nil else {
            return .failure(OpenPGPError(.noEngine, "gpgme 1.18 or newer is needed"))
        }
        BrokenPipe.isAnError()
        // What pinentry speaks; the locale of this process stays as it is.
        for (category, name) in [(LC_CTYPE, "LC_CTYPE"), (LC_MESSAGES, "LC_MESSAGES")] {
            let value = (["LC_ALL", name, "LANG"] as [String]).lazy.compactMap { getenv($0) }.first {
                $0.pointee != 0
            }
            _ = gpgme_set_locale(nil, category, value.map { UnsafePointer($0) })
        }
        let error = SignalMask.withNoneBlocked { gpgme_engine_check_version(GPGME_PROTOCOL_OpenPGP) }
        guard error == 0 else {
            return .failure(
                OpenPGPError(.noEngine, "gpg is missing or too old: \(EngineFailure.words(error))"))
        }
        return .success(())
    }()

    private static var defaultHome: FilePath {
        if let value = getenv("GNUPGHOME"), value.pointee != 0 { return FilePath(String(cString: value)) }
        if let value = getenv("HOME"), value.pointee != 0 {
            return FilePath(String(cString: value)).appending(".gnupg")
        }
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return "/.gnupg" }
        return FilePath(String(cString: directory)).appending(".gnupg")
    }
}
