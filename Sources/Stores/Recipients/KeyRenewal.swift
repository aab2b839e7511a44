import Glibc
import OpenPGP
import SystemPackage

extension Key {
    /// The commands by which its owner renews the key for a year, as a shell reads them: gpg renews the primary key, or all others.
    /// - Parameter home: the directory with the keyring.
    func renewal(in home: FilePath) -> String {
        let place =
            home == OpenPGPEngine.defaultHome ? "" : " --homedir \(ShellWord.quoted(home.string))"
        let command = "gpg\(place) --quick-set-expire \(fingerprint) 1y"
        let now = Int64(time(nil))
        let others = subkeys.dropFirst().contains { !$0.isRevoked && $0.hasExpired(at: now) }
        return [isExpired ? command : nil, others ? "\(command) '*'" : nil].compactMap(\.self)
            .joined(separator: " && ")
    }
}
