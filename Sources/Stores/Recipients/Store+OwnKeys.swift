import OpenPGP
import SystemPackage

/// Which of the keys of a list are yours.
extension Store {
    /// Whether a file that names these has lost all of your keys, and you have not agreed to that.
    func isLossUnagreed(_ recipients: [Recipient], in file: FilePath) -> Bool {
        guard let agreed else { return false }
        let listed = recipients.map(\.key.fingerprint.description)
        // Where nobody was taken out gpg-agent, which may not answer, need not be asked whose keys are yours.
        let gone = Self.agreed(file, agreed).filter { !listed.contains($0) }
        return gone.contains(where: isOwn) && !listed.contains(where: isOwn)
    }

    /// Whether the secret part of a key is here; remembered, as this is asked at saves.
    func isOwn(_ fingerprint: String) -> Bool {
        (try? engine.resolve(fingerprint))?.contains(where: \.isOwn) == true
    }

    /// Whether the secret part of one of these keys is here.
    func isAnyOwn(_ fingerprints: [String]) -> Bool {
        fingerprints.contains(where: isOwn)
    }
}
