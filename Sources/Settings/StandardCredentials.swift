public import OpenPGP
import SystemPackage

extension LayeredCredentialStore {
    /// The places of a user: the Secret Service of the session, then files encrypted to the user's own key.
    /// - Parameter ownKey: the setting `credential.key`.
    public static func standard(
        environment: [String: String], ownKey: String?,
        engine: @escaping @Sendable () throws(OpenPGPError) -> any Engine = { () throws(OpenPGPError) in
            try GnuPG()
        }
    ) -> LayeredCredentialStore {
        LayeredCredentialStore([
            SecretServiceCredentialStore(environment: environment),
            EncryptedFileCredentialStore(
                folder: Directories.dataFolder(environment: environment).appending("credentials"),
                ownKey: ownKey,
                engine: engine),
        ])
    }
}
