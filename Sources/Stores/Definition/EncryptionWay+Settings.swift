public import OpenPGP
public import Settings

extension EncryptionWay {
    /// The setting `openpgp.engine`.
    public init(_ configuration: Configuration) throws(SettingsError) {
        switch try configuration.value(Catalogue.openPGPEngine) {
        case .auto: self = .direct
        case .gpg: self = .gpg
        }
    }
}
