public import OpenPGP
import Settings
import SystemPackage

extension Store {
    /// What applies to every secret of a store.
    public struct Options: Sendable {
        /// The size in bytes beyond which a secret is refused (`limits.secret`).
        public var secretLimit: Int
        /// The size in bytes beyond which a ciphertext is not even read: room for packets, recipients, a compression that made it
        /// larger, and armor.
        public var ciphertextLimit: Int { Self.ciphertextLimit(secrets: secretLimit) }
        /// How long a decryption may wait for a passphrase (`prompt.timeout`).
        public var promptTimeout: Duration
        /// PASSWORD_STORE_KEY: recipients that override `.gpg-id`, separated by spaces.
        public var recipientOverride: String?
        /// PASSWORD_STORE_SIGNING_KEY, else the store's `signingKeys`: fingerprints, in upper case, one of which must
        /// have signed `.gpg-id`.
        public var signingKeys: [String]
        /// Which recipients are encrypted to (`recipients.trust`).
        public var trust = TrustModel.always
        /// Whether recipients that others added must be confirmed (`recipients.confirm`); nil: where the store's
        /// repository has a remote.
        public var mustConfirm: Bool?
        /// Whether passdir cloned it, so that its repository is the store's before there is a `.gpg-id`.
        public var isClone = false
        /// Whom each `.gpg-id` named when you last agreed to it.
        public var record: RecipientRecord?
        /// The folder where changes of recipients that are under way are noted, each store in its own; nil: none can be
        /// made.
        public var changes: FilePath?

        /// Options from their values; those of the environment are taken as pass takes them.
        public init(secretLimit: Int, promptTimeout: Duration, environment: [String: String] = [:]) {
            self.secretLimit = secretLimit
            self.promptTimeout = promptTimeout
            recipientOverride = environment["PASSWORD_STORE_KEY"].flatMap { $0.isEmpty ? nil : $0 }
            signingKeys = Self.fingerprints(environment["PASSWORD_STORE_SIGNING_KEY"] ?? "")
        }

        /// Options of a store as its settings and the environment have them.
        public init(_ settings: StoreSettings, environment: [String: String]) {
            self.init(
                secretLimit: settings.secretLimit, promptTimeout: settings.promptTimeout,
                environment: environment)
            if signingKeys.isEmpty, let keys = settings.signingKeys { signingKeys = Self.fingerprints(keys) }
            trust = settings.trust == .gpg ? .gpg : .always
            isClone = settings.definition.isCloned
            mustConfirm = settings.mustConfirm
            record = RecipientRecord(environment: environment)
            changes = Directories(environment: environment).data.appending("changes")
        }

        /// The largest ciphertext that a secret of at most `secrets` bytes may lie in.
        public static func ciphertextLimit(secrets: Int) -> Int {
            let (binary, isTooMuch) = secrets.addingReportingOverflow(secrets / 8 + (1 << 20))
            // Armor writes four characters for three bytes, and two line ends after each 64 of them: 11/8.
            let (armored, overflow) = binary.addingReportingOverflow(binary / 8 * 3 + 8)
            return isTooMuch || overflow ? .max : armored
        }

        private static func fingerprints(_ text: String) -> [String] {
            text.uppercased().split(separator: " ").map(String.init)
        }
    }
}
