public import OpenPGP
import SystemPackage

extension LayeredCredentialStore {
    /// The places of a user: the Secret Service of the session, then files encrypted to the user's own key.
    /// - Parameters:
    ///   - ownKey: the setting `credential.key`.
    ///   - timeout: how long the user may take to unlock the Secret Service.
    public static func standard(
        environment: [String: String], ownKey: String?, timeout: Duration = .seconds(120),
        engine: @escaping @Sendable () throws(OpenPGPError) -> any CredentialCipher = {
            // Seldom, so that what is fast need not be used.
            OpenPGPEngine(encryption: .gpg)
        }
    ) -> LayeredCredentialStore {
        LayeredCredentialStore([
            SecretServiceCredentialStore(environment: environment, timeout: timeout),
            EncryptedFileCredentialStore(
                folder: Directories(environment: environment).data.appending("credentials"),
                ownKey: ownKey,
                engine: engine),
        ])
    }
}
