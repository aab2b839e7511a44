import CGPGME
import Glibc
import Synchronization
import System
import SystemPackage

/// GnuPG behind gpgme: an operation starts gpg, which asks gpg-agent for what needs a secret key.
///
/// Any thread may call; an operation keeps to the thread that called it, with a context of its own. Nothing here
/// starts a look-up on the network, and nothing but GNUPGHOME, HOME and what pinentry needs is read from the
/// environment.
final class GnuPG: Engine {
    /// The directory with the keyring.
    let home: FilePath
    /// What gpg is told; nil leaves it to gpg's own rule.
    let homeOption: String?
    /// The gpg that gpgme found, and its version.
    let program: (path: String, version: String)
    /// The files in which gpg is told how to work.
    let configurationPaths: [String]
    /// What a change of the keyring, or of how gpg works, shows in.
    let identityPaths: [String]
    let gate: Gate
    let silence: GpgSilence
    /// The keys that lines mean.
    let resolved = Mutex(HomeCache<RecipientQuestion, Result<[Recipient], OpenPGPError>>(limit: 10_000))
    /// The groups of gpg.conf, by their names in lower case.
    let groups = Mutex(HomeCache<String, [String: [String]]>(limit: 1))
    /// The names of all keys.
    let borne = Mutex(HomeCache<String, BorneNames>(limit: 1))
    /// How many names had no key while the home looked like this.
    let missing = Mutex<(home: HomeIdentity?, count: Int)>((nil, 0))
    /// Who signed. `.gpg-id` is verified at every save.
    let verified = Mutex(HomeCache<DetachedSignature, [Fingerprint]>(limit: 256))

    /// How long an operation that asks for nothing may take before gpg is thought to hang.
    static let patience = Duration.seconds(60)

    /// The longest that a decryption may take which may ask nobody. A prompt that another program left open holds up
    /// gpg-agent, and the kernel holds locks that everybody needs while a rename waits here.
    static let patienceWithoutAsking = Duration.seconds(2)

    /// Prepares gpgme, once a process, and checks that gpg is there.
    /// - Parameters:
    ///   - home: The directory with the keyring.
    ///   - parallelism: How many gpg processes may run at a time. One that has run for a second does not count:
    ///     it waits for a passphrase and must block nobody.
    /// - Throws: `noEngine`.
    init(home: FilePath, parallelism: Int = 4) throws(OpenPGPError) {
        program = try Self.engine.get()
        self.home = home
        let systemFolder = gpgme_get_dirinfo("sysconfdir").map { FilePath(String(cString: $0)) }
        configurationPaths = ConfigurationFiles.paths(
            home: self.home, systemFolder: systemFolder ?? "/etc/gnupg", version: program.version)
        identityPaths = HomeIdentity.paths(in: self.home, configurationPaths + [program.path])
        homeOption = home == Self.defaultHome ? nil : home.string
        gate = Gate(places: parallelism)
        silence = GpgSilence.of(self.home)
    }

    /// Runs an operation that asks nobody for anything.
    /// - Parameter work: what gpg is asked to do, for the sentence where it does not answer in time; unless there are bounds.
    ///   Who gives bounds may be more impatient than a silence is long.
    func run(
        _ operation: Operation, to work: String, _ bounds: Bounds? = nil,
        _ start: (OpaquePointer) -> gpgme_error_t
    ) throws(OpenPGPError) -> gpgme_error_t {
        try silence.check()
        do throws(OpenPGPError) {
            return try operation.run(
                bounds ?? Bounds(timeout: Self.patience, to: work), through: gate, start: start)
        } catch {
            guard bounds == nil, error.code == .timedOut else { throw error }
            let overdue = overdue(error)
            silence.note(overdue)
            throw overdue
        }
    }

    /// Initialises gpgme; the first use decides, and every later one sees the same.
    private static let engine: Result<(path: String, version: String), OpenPGPError> = {
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
        guard error == 0, let program = information else {
            return .failure(
                OpenPGPError(.noEngine, "gpg is missing or too old: install GnuPG 2.2 or newer"))
        }
        return .success(program)
    }()

    private static var information: (path: String, version: String)? {
        var next: gpgme_engine_info_t?
        guard gpgme_get_engine_info(&next) == 0 else { return nil }
        while let information = next {
            if information.pointee.protocol == GPGME_PROTOCOL_OpenPGP {
                guard let path = information.pointee.file_name, let version = information.pointee.version
                else { return nil }
                return (String(cString: path), String(cString: version))
            }
            next = information.pointee.next
        }
        return nil
    }

    /// The home that gpg takes by itself.
    static var defaultHome: FilePath {
        if let value = getenv("GNUPGHOME"), value.pointee != 0 { return FilePath(String(cString: value)) }
        if let value = getenv("HOME"), value.pointee != 0 {
            return FilePath(String(cString: value)).appending(".gnupg")
        }
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return "/.gnupg" }
        return FilePath(String(cString: directory)).appending(".gnupg")
    }
}
